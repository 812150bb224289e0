import Foundation
import Hummingbird
import Testing

@Suite("Startup and shutdown of lfs-server", .timeLimit(.minutes(10)))
struct EndTests {
    @Test func `SIGTERM ends a server without a terminal, and SIGHUP does not`() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let arguments = [
                "--database", folder.appending(path: "rows.sqlite").path, "--listen", "127.0.0.1:0", "--url",
                "http://127.0.0.1/lfs",
            ]
            // Pending signals are delivered in the order of their numbers.
            let ended = try await ServerProcess.run(in: folder, arguments: arguments) { server in
                kill(server.id, SIGHUP)
                kill(server.id, SIGTERM)
            }
            #expect(ended == 0)
        }
    }

    @Test(arguments: ["--listen", "--metrics"])
    func `A server on a port in use names the option and exits with 1`(_ option: String) async throws {
        try await ForeignTokenTests.withFolder { folder in
            try await serving(Router()) { other in
                let (process, errors) = (Process(), Pipe())
                process.executableURL = URL(filePath: ServerProcess.program)
                let database = folder.appending(path: "rows.sqlite").path
                let free = option == "--listen" ? [] : ["--listen", "127.0.0.1:0", "--url", "http://127.0.0.1/lfs"]
                process.arguments =
                    ["serve", "--database", database, option, "127.0.0.1:\(other.port)"] + free
                process.standardOutput = FileHandle.nullDevice
                process.standardError = errors
                try process.start()
                let message = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
                process.waitUntilExit()
                #expect(process.terminationStatus == 1)
                let sentence = "Another program listens on 127.0.0.1:\(other.port)."
                #expect(message.contains(sentence) && message.contains("with \(option)."), "\(message)")
            }
        }
    }
}
