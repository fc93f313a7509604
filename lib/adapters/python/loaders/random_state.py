"""One seed for all that a recipe may draw from."""

import random

import numpy as np
import params
import torch


def seed_all(recipe, seed):
    params.generator.seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    recipe.seed(seed)
