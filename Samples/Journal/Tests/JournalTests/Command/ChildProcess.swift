import Foundation

/// A built command, run as a person runs it. Its output goes to pipes.
struct ChildProcess {
    struct Result {
        var status: Int32
        var output: String
        var messages: String
    }

    let process = Process()
    let output = Pipe()
    private let messages: URL

    init(_ name: String, _ arguments: [String], in folder: URL, input: String? = nil) throws {
        messages = folder.appending(path: ".messages-\(UUID().uuidString)")
        try Data().write(to: messages)
        // Beside the test bundle, where the package manager builds both.
        process.executableURL = URL(filePath: ProcessInfo.processInfo.arguments[0])
            .deletingLastPathComponent().appending(path: name)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        if let input {
            // A file, which whoever reads less of does not hold up.
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

    /// Reads its output to the end, and what it has ended with.
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
        _ name: String, _ arguments: [String], in folder: URL, input: String? = nil
    ) async throws -> Result {
        try await blocking { try ChildProcess(name, arguments, in: folder, input: input).wait() }
    }
}

/// Runs what waits for a process, where it holds none of Swift's own threads up.
func blocking<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: body)) }
    }
}
