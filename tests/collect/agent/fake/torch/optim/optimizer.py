before, after = [], []


def register_optimizer_step_pre_hook(hook):
    before.append(hook)


def register_optimizer_step_post_hook(hook):
    after.append(hook)


class Optimizer:
    def __init__(self, parameters):
        self.param_groups, self.state = [{"params": list(parameters)}], {}

    def step(self):
        for hook in before:
            assert hook(self, (), {}) is None
        self.update()
        for hook in after:
            assert hook(self, (), {}) is None

    def update(self):
        pass
