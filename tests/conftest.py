from collections.abc import Iterator

import pytest
from demo import Demo


@pytest.fixture
def demo(tmp_path) -> Iterator[Demo]:
    project = Demo(tmp_path)
    yield project
    project.end()
