from torch.utils import _python_dispatch as _python_dispatch
