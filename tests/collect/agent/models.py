"""Programs that train with PyTorch, the real one or the one that stands for it."""

FAKE_NET = """
import torch
from torch import call
class Linear(torch.nn.Module):
    def __init__(self, size):
        self.weight = torch.nn.Parameter(size, size)
    def forward(self, x):
        return call("aten::addmm", lambda x: torch.Tensor(*x.shape), x, node=True)
class Net(torch.nn.Module):
    def __init__(self):
        self.first, self.second = Linear(4), Linear(4)
    def forward(self, x):
        return self.second(self.first(x))
class SGD(torch.optim.Optimizer):
    def update(self):
        for group in self.param_groups:
            for one in group["params"]:
                call("aten::add_", lambda one, other: one, one, one.grad)
                if one not in self.state:
                    buffer = call("aten::clone", lambda gradient: torch.Tensor(*gradient.shape), one.grad)
                    self.state[one] = {"momentum_buffer": buffer}
def backward(net, number):
    def work():
        for one in (net.first.weight, net.second.weight):
            one.grad = call("aten::mm", lambda: torch.Tensor(4, 4))
    torch.autograd.backward(work, number)
"""

FAKE_TRAINING = (
    FAKE_NET
    + """
net = Net()
optimizer = SGD([net.first.weight, net.second.weight])
for step in range(2):
    y = net(torch.Tensor(2, 4))
    backward(net, torch._C.local.following - 1)
    optimizer.step()
    del y
"""
)

REAL_TRAINING = """
import warnings
warnings.simplefilter("ignore")  # about NumPy, where it is not installed
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False)
    def forward(self, x):
        return self.second(self.first(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(2):
    y = net(torch.ones(2, 4)).sum()
    optimizer.zero_grad()
    y.backward()
    optimizer.step()
    del y
"""
