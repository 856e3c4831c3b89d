# SPDX-License-Identifier: LGPL-2.1-or-later
"""The masks that the demo shows: what each is called and the properties that make it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Look:
    title: str
    mask: str
    scale: float = 1.0
    bias: float = 0.0

    def apply(self, element):
        """Sets the element's properties; also while it is playing."""
        element.set_property("mask", self.mask)
        element.set_property("scale", self.scale)
        element.set_property("bias", self.bias)

    @property
    def text(self):
        """The properties as one would type them after `cudaconvolve`."""
        words = ["mask=" + (f'"{self.mask}"' if " " in self.mask else self.mask)]
        if self.scale != 1.0:
            words.append(f"scale={self.scale:g}")
        if self.bias != 0.0:
            words.append(f"bias={self.bias:g}")
        return " ".join(words)


# Edge masks sum to zero: bias=0.5 puts their "no change" at mid-grey.
LOOKS = [
    Look("original", "identity"),
    Look("Gaussian blur", "gaussian:3"),
    Look("motion blur", "motion:31,30"),
    Look("lens blur", "disk:9"),
    Look("sharpen", "sharpen:1"),
    Look("unsharp mask", "unsharp:3,1"),
    Look("emboss", "emboss"),
    Look("typed weights", "-1 0 0; 0 0 0; 0 0 1", bias=0.5),
    Look("Sobel, horizontal", "sobel-x", bias=0.5),
    Look("Sobel, vertical", "sobel-y", bias=0.5),
    Look("Laplacian", "laplacian8", scale=0.7, bias=0.5),
    Look("difference of Gaussians", "dog:1,4", scale=3, bias=0.5),
]
