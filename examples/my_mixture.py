"""Your own mixture: endless batches, and the data set of each of their items.

    mixture --subject=my_mixture:make_mixture

It takes those arguments that it names: datasets (shards by name), weights,
batch_size, seed, workers, and the settings of a mixture.
"""

import random

import numpy as np


def make_mixture(datasets, weights, batch_size, seed):
    names, draw = list(datasets), random.Random(seed)
    bytes_of = {n: np.fromfile(s[0], np.uint8) for n, s in datasets.items()}
    while True:
        drawn = draw.choices(names, [weights[n] for n in names], k=batch_size)
        yield np.stack([bytes_of[name][:1024] for name in drawn]), drawn
