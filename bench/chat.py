#!/usr/bin/env python3
"""chat.py -- CPU time of `chela chat` at a terminal: bench/chat.py BUILD [ROUNDS]

prompt: from the start until the prompt is on the screen, median of the rounds.
redraw: share of one core while a reply of 500 lines is streamed, and CPU per reply."""
import os, pty, resource, select, statistics, sys, tempfile, time, fcntl, struct, termios

build, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 21
program = os.path.realpath(os.path.join(build, "chela"))


class Chat:
    def __init__(self, home, arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(home)
            env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
            os.execve(program, [program, "chat"] + arguments, env)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.seen = b""

    def until(self, text, seconds=600):
        end, at = time.time() + seconds, len(self.seen)
        while text not in self.seen[at:]:
            if not select.select([self.fd], [], [], end - time.time())[0]:
                raise SystemExit("the screen never showed %r" % text)
            self.seen += os.read(self.fd, 65536)

    def cpu(self):
        with open("/proc/%d/schedstat" % self.pid) as f:
            main = int(f.read().split()[0])
        total = 0
        for task in os.listdir("/proc/%d/task" % self.pid):
            with open("/proc/%d/task/%s/schedstat" % (self.pid, task)) as f:
                total += int(f.read().split()[0])
        return max(main, total) / 1e6  # ms

    def end(self):
        os.write(self.fd, b"\x15\x04")
        try:
            while os.read(self.fd, 65536):
                pass
        except OSError:
            pass
        os.waitpid(self.pid, 0)


with tempfile.TemporaryDirectory() as home:
    with open(home + "/rules.yaml", "w") as f:
        lines = "".join("- line %d of a long answer, with **bold** words and `code` 中文\\n" % i for i in range(500))
        f.write('rules: [ { when: { user: "^long" }, pace_ms: 5, say: "%s\\n\\nTHE END" }, { say: "hi" } ]\n' % lines)
    prompts = []
    for _ in range(rounds):
        chat = Chat(home, ["--model", "scripted/rules.yaml"])
        chat.until(b"Ctrl-D")
        prompts.append(chat.cpu())
        chat.end()
    print("prompt: %.2f ms CPU (median of %d; %.2f to %.2f)" %
          (statistics.median(prompts), rounds, min(prompts), max(prompts)))
    chat = Chat(home, ["--model", "scripted/rules.yaml"])
    chat.until(b"Ctrl-D")
    before, start = chat.cpu(), time.time()
    os.write(chat.fd, b"long\r")
    chat.until(b"THE END")
    used, took = chat.cpu() - before, (time.time() - start) * 1000
    print("redraw: %.0f ms CPU in %.0f ms = %.1f %% of a core (500 lines)" % (used, took, 100 * used / took))
    chat.end()
