import Foundation

/// A built command, run as a user runs it. Its output goes to pipes.
struct ChildProcess {
    struct Result {
        var status: Int32
        var output: String
        var messages: String
    }

    let process = Process()
    let output = Pipe()
    private let messages: URL

    init(_ name: String, arguments: [String], in folder: URL, input: String? = nil) throws {
        messages = folder.appending(path: ".messages-\(UUID().uuidString)")
        try Data().write(to: messages)
        // The package manager builds the command next to the test bundle.
        process.executableURL = URL(filePath: ProcessInfo.processInfo.arguments[0])
            .deletingLastPathComponent().appending(path: name)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        if let input {
            // The input is a file, because a command that reads only a part of a pipe would block the writer.
            let file = folder.appending(path: ".input-\(UUID().uuidString)")
            try Data(input.utf8).write(to: file)
            process.standardInput = try FileHandle(forReadingFrom: file)
            try FileManager.default.removeItem(at: file)
        } else {
            process.standardInput = FileHandle.nullDevice
        }
        process.standardOutput = output
        process.standardError = try FileHandle(forWritingTo: messages)
        try process.run()
    }

    /// Reads the output to its end, and returns it with the exit status.
    func wait() throws -> Result {
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return Result(
            status: process.terminationReason == .uncaughtSignal
                ? 128 + process.terminationStatus : process.terminationStatus,
            output: String(decoding: text, as: UTF8.self),
            messages: String(decoding: try Data(contentsOf: messages), as: UTF8.self))
    }

    static func run(
        _ name: String, arguments: [String], in folder: URL, input: String? = nil
    ) async throws -> Result {
        try await blocking { try ChildProcess(name, arguments: arguments, in: folder, input: input).wait() }
    }
}

/// Runs a blocking call outside of Swift's own threads.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: body)) }
    }
}
