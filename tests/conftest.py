import pytest
from demo import Demo


@pytest.fixture
def demo(tmp_path) -> Demo:
    return Demo(tmp_path)
