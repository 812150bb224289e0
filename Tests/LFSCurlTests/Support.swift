import Foundation
import LFSCurl
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
    init(_ method: Method, _ server: ScriptedServer, _ target: String = "/", body: RequestBody = .none) throws {
        self.init(method, try HTTPOrigin(server.url), target, body: body)
    }
}

/// Runs a body with a server and an engine, and ends both.
func withEngine(
    _ options: HTTPOptions = .plain(),
    script: @escaping @Sendable (ServerRequest, ServerConnection) throws -> Void,
    _ body: (ScriptedServer, CurlTransport) async throws -> Void
) async throws {
    let server = try ScriptedServer(script)
    let engine = CurlTransport(options)
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

/// The code of the engine's error that the body throws, nil when it throws nothing.
func code(_ body: () async throws -> HTTPResponse) async throws -> HTTPError.Code? {
    do {
        _ = try await body()
        return nil
    } catch let error as HTTPError {
        return error.code
    }
}

/// A descriptor of a file with these bytes.
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
