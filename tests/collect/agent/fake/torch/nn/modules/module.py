before, after = [], []


def register_module_forward_pre_hook(hook):
    before.append(hook)


def register_module_forward_hook(hook, *, always_call=False):
    assert always_call
    after.append(hook)


class Module:
    def _call_impl(self, *args):
        def inner():
            for hook in before:
                assert hook(self, args) is None
            result = self.forward(*args)
            for hook in after:
                assert hook(self, args, result) is None
            return result

        try:
            return inner()
        except Exception:
            for hook in after:
                hook(self, args, None)
            raise

    __call__ = _call_impl

    def named_modules(self, path=""):
        yield path, self
        for name, one in vars(self).items():
            if isinstance(one, Module):
                yield from one.named_modules(f"{path}.{name}" if path else name)

    def named_parameters(self):
        import torch

        for path, module in self.named_modules():
            for name, one in vars(module).items():
                if type(one) is torch.nn.Parameter:
                    yield f"{path}.{name}" if path else name, one

    def named_buffers(self):
        return iter(())
