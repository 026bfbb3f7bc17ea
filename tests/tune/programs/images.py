"""A small convolutional network, written the way many first scripts are. Patched by treatments_test.py."""
import torch
import torch.nn.functional as F


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
        self.head = torch.nn.Linear(8, 10)

    def forward(self, x):
        return self.head(F.relu(self.conv(x)).mean((2, 3)))


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Net().to(device).train()
    data = torch.utils.data.TensorDataset(torch.randn(32, 3, 8, 8), torch.arange(32) % 10)
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, foreach=False)  # slow on purpose
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        opt.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        print(f"loss {loss.item():.4f} {loss.dtype}")
    report(model=model, opt=opt, x=x)


def report(**things):
    """The test puts its own in here."""


if __name__ == "__main__":
    main()
