"""Your own model as a TorchScript file, which C++ trains without Python.

python3 my_script.py && train --subject=my_model.pt --batch_size=16
"""

import torch
from my_model import build

model, _, _ = build(batch_size=1)
torch.jit.save(
    torch.jit.script(model),
    "my_model.pt",
    _extra_files={"input_shape": "3,96,96"},
)
