"""torchdata's StatefulDataLoader: torch's DataLoader, with a state that another
process continues from."""

import base64
import pickle

from loaders import torch_dataloader
from torchdata.stateful_dataloader import StatefulDataLoader
from torchdata.stateful_dataloader.sampler import StatefulDistributedSampler


class Loader(torch_dataloader.Loader):
    DataLoader = StatefulDataLoader
    DistributedSampler = StatefulDistributedSampler

    def state(self):
        state = pickle.dumps(self._loader.state_dict())
        return base64.b64encode(state).decode()

    def resume(self, state):
        state = pickle.loads(base64.b64decode(state))
        self._loader.load_state_dict(state)
