import Foundation

/// The server that discards, as a process beside this one.
final class DiscardServer {
    let url: URL
    private let process = Process()

    init() throws {
        let output = Pipe()
        process.executableURL = Self.neighbour("discard-server")
        process.standardOutput = output
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
        guard let url = URL(string: String(decoding: line, as: UTF8.self)) else {
            throw BenchFailed("the server did not start")
        }
        self.url = url
    }

    func stop() {
        process.terminate()
        process.waitUntilExit()
    }

    /// A program that was built together with this one.
    static func neighbour(_ name: String) -> URL {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name)
    }
}

/// The bare C program.
enum BareCurl {
    private struct Report: Decodable {
        var seconds: Double
        var cpu_user: Double
        var cpu_sys: Double
    }

    static func run(_ load: Load, _ file: SourceFile, _ server: DiscardServer) throws -> Run {
        let process = Process()
        let output = Pipe()
        process.executableURL = DiscardServer.neighbour("bare-curl")
        process.arguments = [
            server.url.absoluteString, file.url.path, String(load.count), String(load.byteCount),
            String(load.connections),
        ]
        process.standardOutput = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BenchFailed("the bare C program failed") }
        let report = try JSONDecoder().decode(Report.self, from: text)
        return Run(seconds: report.seconds, cpu: report.cpu_user + report.cpu_sys)
    }
}
