import Foundation
import LFSHTTP
import LFSSystem
import TestSupport

extension HTTPOptions {
    /// Options whose limits only guard against hangs.
    static var patient: HTTPOptions {
        var options = HTTPOptions()
        options.connectTimeout = .seconds(600)
        options.stallTimeout = .seconds(600)
        return options
    }

    static func plain(_ change: (inout HTTPOptions) -> Void = { _ in }) -> HTTPOptions {
        var options = patient
        options.allowsPlainHTTP = true
        change(&options)
        return options
    }
}

extension HTTPRequest {
    init(_ method: Method, server: ScriptedServer, target: String = "/", body: RequestBody = .none) throws {
        self.init(method, origin: try HTTPOrigin(server.url), target: target, body: body)
    }
}

/// Runs a body with a server and an engine of a kind, and closes both.
func withEngine(
    _ kind: Engine, options: HTTPOptions = .plain(),
    script: @escaping @Sendable (ServerRequest, ServerConnection) throws -> Void,
    _ body: (ScriptedServer, any HTTPTransport) async throws -> Void
) async throws {
    let server = try ScriptedServer(script)
    let engine = kind.make(options)
    do {
        try await body(server, engine)
    } catch {
        await engine.shutdown()
        server.close()
        throw error
    }
    await engine.shutdown()
    server.close()
}

/// Returns the code of the engine error that the body throws, or nil if it throws none.
func code(_ body: () async throws -> HTTPResponse) async throws -> HTTPError.Code? {
    do {
        _ = try await body()
        return nil
    } catch let error as HTTPError {
        return error.code
    }
}

/// Returns a descriptor of a file with these bytes.
func openFile(_ bytes: [UInt8], in folder: URL) throws -> Descriptor {
    let url = folder.child("body")
    try Data(bytes).write(to: url)
    return try Descriptor.openForReading(url.path)
}

func openDescriptorCount() throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
}

func threadNames() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").compactMap { id in
        // A thread may end between the two calls.
        try? String(contentsOfFile: "/proc/self/task/\(id)/comm", encoding: .utf8)
            .trimmingCharacters(in: .newlines)
    }
}
