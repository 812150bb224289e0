import Foundation
import Testing

@Suite("Output errors")
struct ConsoleTests {
    /// The package manager builds the server next to the tests.
    private static let server = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("lfs-server").path

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
        process.arguments = ["-c", "trap '' PIPE; exec \"$0\" schema print", Self.server]
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let message = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: message, as: UTF8.self))
    }
}
