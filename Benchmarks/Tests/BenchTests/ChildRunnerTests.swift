import BenchKit
import Foundation
import Testing

@Suite("Measuring a process", .serialized, .timeLimit(.minutes(10)))
struct ChildRunnerTests {
    @Test("Sleeping takes wall time and no CPU time")
    func sleeping() throws {
        let cost = try shell("sleep 0.5").cost
        #expect(cost.wallSeconds >= 0.5)
        #expect(cost.cpuSeconds < 0.4)
    }

    @Test("Working takes CPU time, also in a grandchild")
    func working() throws {
        let work = "i=0; while [ $i -lt 500000 ]; do i=$((i + 1)); done"
        for script in [work, "(\(work)); true"] {
            let cost = try shell(script).cost
            #expect(cost.cpuSeconds > 0.05)
            #expect(cost.cpuSeconds <= cost.wallSeconds * 1.5)
        }
    }

    @Test("The peak is the resident memory in bytes")
    func memory() throws {
        // On Linux, a child inherits the peak of its parent, so the child must use more than that.
        let small = try shell("true").cost
        let extra = Int(small.peakBytes) + 200_000_000
        let large = try shell("x=$(head -c \(extra) /dev/zero | tr '\\0' a)").cost
        #expect(small.peakBytes > 100_000)
        #expect(large.peakBytes >= extra)
        // The unit is bytes, not kibibytes. A shell may hold a copy or two.
        #expect(large.peakBytes < 8 * extra)
    }

    @Test("The result contains the exit status and the last messages")
    func endings() throws {
        let failed = try shell("echo result; for i in 1 2 3; do echo line $i >&2; done; exit 7")
        #expect(failed.status == 7)
        #expect(failed.output == "result\n")
        #expect(failed.reason(lines: 2) == "it ended with status 7:\n  line 2\n  line 3")
        #expect(try shell("kill -KILL $$").reason() == "it was ended by signal 9 and said nothing.")
        #expect(try shell("true").succeeded)
    }

    @Test("A signal that the parent ignores is not ignored in the child")
    func dispositions() throws {
        signal(SIGHUP, SIG_IGN)
        defer { signal(SIGHUP, SIG_DFL) }
        #expect(try shell("kill -HUP $$; echo ignored").status == 128 + SIGHUP)
    }

    @Test("The child has only the given environment and no input")
    func environment() throws {
        let result = try shell(
            "echo $NAME; cat; echo ${HOME-none}", environment: ["NAME": "value", "PATH": "/bin:/usr/bin"])
        #expect(result.output == "value\nnone\n")
    }

    @Test("A program that cannot be started is an error")
    func missing() throws {
        try withRunner { runner, _ in
            _ = #expect(throws: (any Error).self) { try runner.run(ChildCommand("/no/such/program", arguments: [])) }
        }
    }

    @Test(
        "An interruption ends the child and its children, and no other child starts", arguments: ["", "trap '' TERM; "])
    func interruption(preparation: String) throws {
        try withRunner { runner, folder in
            let ready = folder + "/ready"
            let thread = Thread {
                while !FileManager.default.fileExists(atPath: ready) { usleep(1_000) }
                runner.interrupt(SIGINT)
            }
            thread.start()
            // It runs longer than the time limit, and only SIGKILL ends it.
            let grandchild = "trap '' TERM; echo $$ >'\(ready).new'; mv '\(ready).new' '\(ready)'; exec sleep 900"
            let script = "\(preparation)/bin/sh -c \"$SCRIPT\" & wait; sleep 900"
            #expect(throws: Interrupted.self) {
                try runner.run(command(script, environment: ["PATH": "/bin:/usr/bin", "SCRIPT": grandchild]))
            }
            #expect(runner.interruption == 130)
            #expect(throws: Interrupted.self) { try runner.run(command("true")) }
            let survivor = try #require(
                pid_t(
                    try String(contentsOfFile: ready, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
            while isRunning(survivor) { usleep(1_000) }
        }
    }

    private func shell(_ script: String, environment: [String: String] = ["PATH": "/bin:/usr/bin"]) throws
        -> ChildResult
    {
        try withRunner { runner, _ in try runner.run(command(script, environment: environment)) }
    }

    private func command(_ script: String, environment: [String: String] = ["PATH": "/bin:/usr/bin"]) -> ChildCommand {
        ChildCommand("/bin/sh", arguments: ["-c", script], environment: environment)
    }

    /// Returns true if the process exists and is not a zombie.
    private func isRunning(_ process: pid_t) -> Bool {
        guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8) else {
            return kill(process, 0) == 0
        }
        return !stat.contains(") Z ")
    }
}

func withRunner<Value>(_ body: (ChildRunner, _ folder: String) throws -> Value) throws -> Value {
    let folder = try TemporaryFolder()
    defer { #expect(throws: Never.self) { try folder.remove() } }
    return try body(ChildRunner(folder: folder.path), folder.path)
}
