"""Fixed-length windows over a memory-mapped file of token ids."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Windows(Dataset):
    def __init__(self, path, context):
        self.tokens = np.memmap(path, dtype=np.uint16, mode="r")
        self.context = context

    def __len__(self):
        return len(self.tokens) - self.context - 1

    def __getitem__(self, index):
        window = torch.from_numpy(self.tokens[index : index + self.context + 1].astype(np.int64))
        return window[:-1], window[1:]
