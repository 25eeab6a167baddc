"""Three papers on what Transformers can approximate, statement by statement.

A wing per paper (`fang2022`, `jiang2024`, `wang2024`), common rooms beside them (`numerics`,
`training`), and the house that runs and shows the claims (`harness`, `report`).

Where to begin; each of these has an example in its docstring:

repro.fang2022.multiplication.multiplication_block    an attention block that multiplies
repro.fang2022.powers.construction                    a Transformer that is a polynomial, exactly
repro.fang2022.network.polynomial_transformer         the same as a torch module
repro.jiang2024.couplings.Coupling                    a target whose attention has a known spectrum
repro.jiang2024.rate.truncated                        a network with head size m for that target
repro.jiang2024.rate.ridge_bound                      how far it is off at most
repro.jiang2024.output_floor.Pair                     a target, and what no network can do for it
repro.wang2024.heads.fit                              heads that remember with a given kernel
repro.wang2024.kernels.Interpolation                  such heads with proved errors
repro.numerics.l1.best                                the floor: no heads of these slopes do better
repro.numerics.minimax.best                           the best polynomial, and its error enclosed
repro.numerics.rates.slope                            the exponent of a measured error
repro.training.Store                                  trainings that are made once
"""

__version__ = "0.1.0"
