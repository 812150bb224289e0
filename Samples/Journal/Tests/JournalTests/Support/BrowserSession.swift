import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A session of a browser with a served journal.
struct BrowserSession: Sendable {
    struct Reply: Sendable {
        let status: Int
        let text: String
        fileprivate let cookie: String
    }

    private let server: String
    private var cookie = ""
    private var token = ""

    /// Loads a page as a browser does on its first visit.
    ///
    /// - Parameter server: The address of the server, such as `http://127.0.0.1:8080`.
    init(with server: String) async throws {
        self.server = server
        let page = try await get("/")
        cookie = page.cookie
        token = String(try #require(page.text.firstMatch(of: /data-token="([0-9a-f]{64})"/)).1)
    }

    func get(_ path: String) async throws -> Reply { try await send(try request(path)) }

    /// Sends a form with the token of the session, and follows a redirection.
    func post(_ path: String, form: String) async throws -> Reply {
        var request = try request(path)
        request.httpMethod = "POST"
        request.httpBody = Data("token=\(token)&\(form)".utf8)
        request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        request.setValue(server, forHTTPHeaderField: "Origin")
        return try await send(request)
    }

    private func request(_ path: String) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: server + path)))
        request.httpShouldHandleCookies = false
        request.setValue("text/html", forHTTPHeaderField: "Accept")
        request.setValue(cookie, forHTTPHeaderField: "Cookie")
        return request
    }

    private func send(_ request: URLRequest) async throws -> Reply {
        let (data, response) = try await URLSession.shared.data(for: request)
        let reply = try #require(response as? HTTPURLResponse)
        let set = reply.value(forHTTPHeaderField: "Set-Cookie") ?? ""
        return Reply(
            status: reply.statusCode, text: String(decoding: data, as: UTF8.self),
            cookie: String(set.prefix { $0 != ";" }))
    }
}
