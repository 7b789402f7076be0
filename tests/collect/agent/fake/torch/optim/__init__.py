from torch.optim.optimizer import Optimizer as Optimizer

del optimizer  # noqa: F821 as PyTorch does
