from tools.benchmarks.measuring import (  # noqa: F401  (fixtures)
    compare,
    growth,
    in_rounds,
    measured,
    one_thread,
    switched_on,
    write,
)
