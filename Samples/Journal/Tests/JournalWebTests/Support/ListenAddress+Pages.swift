import Foundation
import JournalWeb
import Testing

extension ListenAddress {
    /// Waits until a page of the server contains a text. It loads the page again after each event for open pages.
    ///
    /// The suite's time limit ends the wait.
    func wait(for text: String, cookie: String = "", loading page: () async throws -> String) async throws {
        let events = try RawConnection(port: port)
        let cookieField = cookie.isEmpty ? "" : "Cookie: \(cookie)\r\n"
        events.send(Data("GET /events HTTP/1.1\r\nHost: \(self)\r\n\(cookieField)\r\n".utf8))
        while true {
            // The first event shows that all later changes are sent.
            guard try await blocking({ try events.read() }) != nil else { break }
            if try await page().contains(text) { return }
        }
        Issue.record("The stream of events has ended, and the page has never said '\(text)'.")
    }

    /// Loads a page without a cookie.
    func page(_ path: String) async throws -> String {
        let connection = try RawConnection(port: port)
        let fields = "Host: \(self)\r\nConnection: close\r\nAccept: text/html\r\n"
        connection.send(Data("GET \(path) HTTP/1.1\r\n\(fields)\r\n".utf8))
        return HTTPReply(try await blocking { try connection.readToEnd() })?.text ?? ""
    }
}
