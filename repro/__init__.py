"""Three papers on what Transformers can approximate, statement by statement.

A wing per paper (`fang2022`, `jiang2024`, `wang2024`), common rooms beside them (`numerics`,
`training`), and the house that runs and shows the claims (`harness`, `report`).
"""

__version__ = "0.1.0"
