from demo import demo  # noqa: F401  (a fixture)
