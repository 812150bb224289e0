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

    /// Runs a command, or a wrapper command followed by the path of the command.
    init(
        _ name: String, arguments: [String], in folder: URL, input: String? = nil, through wrapper: [String] = [],
        environment: [String: String] = [:]
    ) throws {
        messages = folder.appending(path: ".messages-\(UUID().uuidString)")
        try Data().write(to: messages)
        // The package manager builds the command next to the test bundle.
        let program = URL(filePath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
            .appending(path: name)
        let words = wrapper + [program.path] + arguments
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        process.currentDirectoryURL = folder
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { _, new in new }
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
        try process.start()
    }

    /// Waits for the line with the address of a served journal, such as `http://127.0.0.1:8080/`.
    ///
    /// - Returns: The address without the slash at its end.
    func address() async throws -> String {
        let handle = output.fileHandleForReading
        let line = try await blocking { String(decoding: handle.availableData, as: UTF8.self) }
        return line.trimmingCharacters(in: CharacterSet(charactersIn: "/\n"))
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
        _ name: String, arguments: [String], in folder: URL, input: String? = nil, through wrapper: [String] = [],
        environment: [String: String] = [:]
    ) async throws -> Result {
        try await blocking {
            try ChildProcess(
                name, arguments: arguments, in: folder, input: input, through: wrapper, environment: environment
            ).wait()
        }
    }
}
