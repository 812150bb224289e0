import Foundation
import Testing

@Suite("Output errors")
struct ConsoleTests {
    @Test("A full disk for the output is reported as an error")
    func fullDisk() throws {
        let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
        let (status, message) = try run(output: full)
        #expect(status == 1)
        #expect(message.hasPrefix("lfs-server: The results cannot be written: "), "\(message)")
    }

    @Test("A closed pipe ends the command without a message")
    func closedPipe() throws {
        let pipe = Pipe()
        try pipe.fileHandleForReading.close()
        let (status, message) = try run(output: pipe.fileHandleForWriting)
        #expect(status == 141 && message.isEmpty, "\(message)")
    }

    private func run(output: FileHandle) throws -> (Int32, message: String) {
        let (process, errors) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // The signal would end the process without a message.
        process.arguments = ["-c", "trap '' PIPE; exec \"$0\" schema print", ServerProcess.program]
        process.standardOutput = output
        process.standardError = errors
        try process.start()
        let message = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: message, as: UTF8.self))
    }
}
