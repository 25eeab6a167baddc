"""Jiang, Li: Approximation Rate of the Transformer Architecture for Sequence Modeling.

Equations (5), (8), (18)  model.py, selection.py; (5) in floating point: networks.py
Equation (7)              encodings.py
Equations (12)-(15)       complexity.py; (40)-(43): softmax.py
Theorem 4.1               rate.py; what no network can do: logit_floor.py, output_floor.py,
                          affine_networks.py
Section 5.1, (68)         couplings.py
Figure 1                  spectra.py; what is trained in all figures and tables: learner.py
Figure 2                  scores.py; whose: subjects.py, minilm.py, vit_weights.py (a user's ViT)
Figure 3                  head_pod.py (the POD of a trained head)
Figures 2, 3, Table 1     vit.py, convolution.py, trained_vit.py, image_settings.py (settings)
Table 1, ENG-DE           translation.py, sentences.py, bleu.py; what is trained:
                          trained_translation.py, reordering.py
Propositions 6.1, 6.2     ordering.py, and the floor under Table 2; 6.3: memory.py
Tables 2, 3               linear_tasks.py, trained_recurrent.py, comparison.py (what is trained)
Theorem A.3, (12)         representation.py
Theorem A.1               repro/numerics/superposition.py
Proposition B.1           gauge.py
Appendix B.1              tasks.py; what training recovers of them: recovery.py
Section D.1               recurrent.py (72)-(75), memory.py (76)-(79), hankel.py (the rate)
Sections D.2, D.3         pieces.py (Hoelder constants), mixing.py (the spectrum of the example)
"""

from repro.lazy import submodules

__getattr__ = submodules(__name__)
