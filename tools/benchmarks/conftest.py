from tools.benchmarks.measuring import (  # noqa: F401  (fixtures, and a hook)
    compare,
    earlier,
    growth,
    in_rounds,
    measured,
    one_thread,
    pytest_sessionfinish,
    recorder,
    switched_on,
)
