import Foundation
import Testing

@Suite("Output errors")
struct ConsoleTests {
    @Test("A full disk for the output is reported as an error")
    func fullDisk() async throws {
        let (status, message) = try await run("exec \"$0\" schema print > /dev/full")
        #expect(status == 1)
        #expect(message.hasPrefix("lfs-server: The results cannot be written: "), "\(message)")
    }

    @Test("A closed pipe ends the command without a message")
    func closedPipe() async throws {
        // The shell has the only reading end, and closes it. No other process of the tests can inherit it.
        let (status, message) = try await run(
            "mkfifo \"$1/pipe\"; exec 3<> \"$1/pipe\" 4> \"$1/pipe\" 3<&-; exec \"$0\" schema print >&4")
        #expect(status == 141 && message.isEmpty, "\(message)")
    }

    /// Runs a shell script with the path of the program as `$0` and that of a folder as `$1`.
    ///
    /// - Returns: the exit status, and what the program has written to its standard error.
    private func run(_ script: String) async throws -> (Int32, message: String) {
        var outcome: (Int32, message: String) = (-1, "")
        try await ForeignTokenTests.withFolder { folder in
            let errors = folder.appending(path: "errors")
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            // The signal would end the process without a message.
            process.arguments = ["-c", "trap '' PIPE; \(script)", ServerProcess.program, folder.path]
            try Data().write(to: errors)
            process.standardError = try FileHandle(forWritingTo: errors)
            try process.start()
            try await blocking { process.waitUntilExit() }
            outcome = (process.terminationStatus, String(decoding: try Data(contentsOf: errors), as: UTF8.self))
        }
        return outcome
    }
}
