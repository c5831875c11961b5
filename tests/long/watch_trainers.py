# watch_trainers.py torch|keras|lightning FOLDER: trains a small network with a real framework, as a user
# would, and writes into FOLDER what it logs. What tinca must show is in FOLDER/truth.json: one list for
# each curve, collected by this program itself.
#
#   torch      an event file (scalars, and a summary with tensors), a CSV file and JSON lines
#   keras      its progress on standard output, with two outputs if KERAS_OUTPUTS=2, and CSVLogger
#   lightning  its progress on standard output, CSVLogger and TensorBoardLogger
import csv
import json
import os
import sys
import time


def data(count=512):
    import torch
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(count, 16, generator=generator)
    y = (x[:, :4].sum(1) > 0).long() + 2 * (x[:, 4:8].sum(1) > 0).long()
    return x, y


def train_torch(folder):
    import torch
    from torch.utils.tensorboard import SummaryWriter
    torch.manual_seed(1)
    x, y = data()
    net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    solver = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(solver, 30, 0.5)
    truth = {"iteration": [], "loss": [], "lr": [], "validation": [], "top1": [], "val_loss": []}
    pause = float(os.environ.get("PAUSE", "0"))
    writer = SummaryWriter(folder + "/events")
    table = csv.writer(open(folder + "/log.csv", "w", buffering=1))
    table.writerow(["step", "lr", "train_loss", "val_loss", "val_acc"])
    lines = open(folder + "/log.jsonl", "w", buffering=1)
    for step in range(100):
        rows = torch.arange(32) + 32 * (step % 12)
        loss = torch.nn.functional.cross_entropy(net(x[rows]), y[rows])
        solver.zero_grad()
        loss.backward()
        solver.step()
        rate = schedule.get_last_lr()[0]
        schedule.step()
        truth["iteration"].append(step + 1)
        truth["loss"].append(loss.item())
        truth["lr"].append(rate)
        writer.add_scalar("Loss/train", loss.item(), step)
        writer.add_scalar("lr", rate, step)
        record = {"step": step, "train": {"loss": loss.item()}, "lr": rate}
        row = [step, rate, loss.item(), "", ""]
        if step % 20 == 19:
            with torch.no_grad():
                logits = net(x[384:])
                val_loss = torch.nn.functional.cross_entropy(logits, y[384:]).item()
                accuracy = (logits.argmax(1) == y[384:]).float().mean().item()
            truth["validation"].append(step + 1)
            truth["val_loss"].append(val_loss)
            truth["top1"].append(100 * accuracy)
            writer.add_scalar("Loss/validation", val_loss, step)
            writer.add_scalar("Accuracy/validation", accuracy, step, new_style=True)
            writer.add_histogram("weights", net[0].weight, step)
            record["val"] = {"loss": val_loss, "accuracy": accuracy}
            row[3:] = [val_loss, accuracy]
        table.writerow(row)
        lines.write(json.dumps(record) + "\n")
        lines.flush()
        if pause:
            writer.flush()
            time.sleep(pause)
    writer.add_hparams({"lr": 0.1}, {"hparam/best": max(truth["top1"])})
    writer.close()
    return truth


def train_keras(folder):
    os.environ["KERAS_BACKEND"] = "torch"
    import keras
    keras.utils.set_random_seed(1)
    x, y = (t.numpy() for t in data())
    several = os.environ.get("KERAS_OUTPUTS") == "2"
    inputs = keras.Input((16,))
    hidden = keras.layers.Dense(32, activation="relu")(inputs)
    outputs = keras.layers.Dense(4, activation="softmax", name="classes")(hidden)
    labels = y
    if several:
        outputs = [outputs, keras.layers.Dense(2, activation="softmax", name="parity")(hidden)]
        labels = [y, y % 2]
    net = keras.Model(inputs, outputs)
    loss = ["sparse_categorical_crossentropy"] * (2 if several else 1)
    net.compile(keras.optimizers.SGD(0.1, momentum=0.9), loss=loss if several else loss[0],
                metrics=[["accuracy"]] * 2 if several else ["accuracy"])
    history = net.fit(x[:384], labels if not several else [l[:384] for l in labels], batch_size=32,
                      epochs=5, verbose=int(os.environ.get("VERBOSE", "1")),
                      validation_data=(x[384:], [l[384:] for l in labels] if several else y[384:]),
                      callbacks=[keras.callbacks.CSVLogger(folder + "/log.csv")]) if several else \
        net.fit(x[:384], y[:384], batch_size=32, epochs=5, verbose=int(os.environ.get("VERBOSE", "1")),
                validation_data=(x[384:], y[384:]),
                callbacks=[keras.callbacks.CSVLogger(folder + "/log.csv")])
    past = history.history
    accuracy = "val_classes_accuracy" if several else "val_accuracy"
    return {"loss": past["loss"], "val_loss": past["val_loss"],
            "top1": [100 * value for value in past[accuracy]],
            "parity": [100 * value for value in past.get("val_parity_accuracy", [])]}


def train_lightning(folder):
    import lightning
    import torch
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger
    lightning.seed_everything(1, verbose=False)
    x, y = data()
    truth = {"iteration": [], "loss": [], "val_loss": [], "top1": []}

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))

        def training_step(self, batch, index):
            loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
            truth["iteration"].append(self.global_step + 1)
            truth["loss"].append(loss.item())
            self.log("train_loss", loss, prog_bar=True)
            return loss

        def validation_step(self, batch, index):
            logits = self.net(batch[0])
            self.log("val_loss", torch.nn.functional.cross_entropy(logits, batch[1]), prog_bar=True)
            self.log("val_acc", (logits.argmax(1) == batch[1]).float().mean(), prog_bar=True)

        def on_validation_epoch_end(self):
            if not self.trainer.sanity_checking:
                truth["val_loss"].append(self.trainer.callback_metrics["val_loss"].item())
                truth["top1"].append(100 * self.trainer.callback_metrics["val_acc"].item())

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

    set_of = torch.utils.data.TensorDataset
    load = torch.utils.data.DataLoader
    trainer = lightning.Trainer(max_epochs=4, accelerator="cpu", log_every_n_steps=1,
                                logger=[CSVLogger(folder, name="csv"), TensorBoardLogger(folder, name="tb")],
                                enable_checkpointing=False, enable_model_summary=False)
    trainer.fit(Net(), load(set_of(x[:384], y[:384]), 32), load(set_of(x[384:], y[384:]), 64))
    return truth


if __name__ == "__main__":
    kind, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    result = {"torch": train_torch, "keras": train_keras, "lightning": train_lightning}[kind](folder)
    json.dump(result, open(folder + "/truth.json", "w"))
