import time

for _ in range(400):
    print(time.monotonic_ns(), flush=True)
    time.sleep(0.01)
