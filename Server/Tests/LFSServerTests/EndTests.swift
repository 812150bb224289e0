import Foundation
import Hummingbird
import Testing

@Suite("Startup and shutdown of lfs-server", .timeLimit(.minutes(10)))
struct EndTests {
    /// The path of the program, which is built into the folder of the tests.
    private static let server = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
        .appendingPathComponent("lfs-server").path

    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "lfs-end-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let result: Result<Void, any Error>
        do { result = .success(try await body(folder)) } catch { result = .failure(error) }
        try FileManager.default.removeItem(at: folder)
        try result.get()
    }

    /// Runs a server without a terminal, and calls the body with the server's process id when the server listens.
    ///
    /// - Returns: the exit status of the server.
    private func status(in folder: URL, _ arguments: [String], _ body: (Int32) -> Void) throws -> Int32 {
        let (process, output, number) = (Process(), Pipe(), folder.appending(path: "pid"))
        process.executableURL = URL(filePath: "/usr/bin/setsid")
        process.arguments =
            ["--wait", "/bin/sh", "-c", "echo $$ > '\(number.path)'; exec \"$0\" serve \"$@\"", Self.server] + arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let line = output.fileHandleForReading.availableData
        #expect(!line.isEmpty)
        let text = try String(contentsOf: number, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        body(try #require(Int32(text)))
        process.waitUntilExit()
        return process.terminationStatus
    }

    @Test func `SIGTERM ends a server without a terminal, and SIGHUP does not`() async throws {
        try await withFolder { folder in
            let arguments = [
                "--database", folder.appending(path: "rows.sqlite").path, "--listen", "127.0.0.1:0", "--url",
                "http://127.0.0.1/lfs",
            ]
            // Pending signals are delivered in the order of their numbers.
            let ended = try status(in: folder, arguments) { number in
                kill(number, SIGHUP)
                kill(number, SIGTERM)
            }
            #expect(ended == 0)
        }
    }

    @Test(arguments: ["--listen", "--metrics"])
    func `A server on a port in use names the option and exits with 1`(_ option: String) async throws {
        try await withFolder { folder in
            try await serving(Router()) { other in
                let (process, errors) = (Process(), Pipe())
                process.executableURL = URL(filePath: Self.server)
                let database = folder.appending(path: "rows.sqlite").path
                let free = option == "--listen" ? [] : ["--listen", "127.0.0.1:0", "--url", "http://127.0.0.1/lfs"]
                process.arguments =
                    ["serve", "--database", database, option, "127.0.0.1:\(other.port)"] + free
                process.standardOutput = FileHandle.nullDevice
                process.standardError = errors
                try process.run()
                let message = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
                process.waitUntilExit()
                #expect(process.terminationStatus == 1)
                let sentence = "Another program listens on 127.0.0.1:\(other.port)."
                #expect(message.contains(sentence) && message.contains("with \(option)."), "\(message)")
            }
        }
    }
}
