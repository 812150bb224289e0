import Foundation
import JournalStorage
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("Removal of a served journal", .timeLimit(.minutes(10)))
struct ServeRemovalTests {
    private struct Reply {
        let status: Int
        let text: String
        let cookie: String
    }

    private func send(
        _ path: String, to server: String, cookie: String = "", form: String? = nil
    ) async throws -> Reply {
        var request = URLRequest(url: try #require(URL(string: server + path)))
        request.httpShouldHandleCookies = false
        request.setValue("text/html", forHTTPHeaderField: "Accept")
        request.setValue(cookie, forHTTPHeaderField: "Cookie")
        if let form {
            request.httpMethod = "POST"
            request.httpBody = Data(form.utf8)
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            request.setValue(server, forHTTPHeaderField: "Origin")
        }
        let (data, response) = try await URLSession.shared.data(for: request)
        let reply = try #require(response as? HTTPURLResponse)
        let set = reply.value(forHTTPHeaderField: "Set-Cookie") ?? ""
        return Reply(
            status: reply.statusCode, text: String(decoding: data, as: UTF8.self),
            cookie: String(set.prefix { $0 != ";" }))
    }

    /// Waits for the line with the address of the server.
    private func address(of child: ChildProcess) async throws -> String {
        let output = child.output.fileHandleForReading
        let line = try await blocking { String(decoding: output.availableData, as: UTF8.self) }
        return line.trimmingCharacters(in: CharacterSet(charactersIn: "/\n"))
    }

    @Test("A full reset on the page empties the journal, and the server continues")
    func reset() async throws {
        try await withFolder { folder in
            let database = ["--database", "journal.sqlite", "--storage", "dir:a"]
            let demo = ["demo", "--records", "3", "--pictures", "0"] + database
            let made = try await ChildProcess.run("journal", arguments: demo, in: folder)
            #expect(made.status == 0, "\(made)")
            let serve = ["serve", "--secrets", "state", "--listen", "127.0.0.1:0"] + database
            let child = try ChildProcess("journal", arguments: serve, in: folder)
            defer { if child.process.isRunning { child.process.terminate() } }
            let first = try await address(of: child)
            let page = try await send("/settings", to: first)
            let token = try #require(page.text.firstMatch(of: /data-token="([0-9a-f]{64})"/)).1
            let form = "token=\(token)&what=everything&lost=0&sure=yes"
            let removed = try await send("/settings/remove", to: first, cookie: page.cookie, form: form)
            #expect(removed.status == 200 && removed.text.contains("stay there"), "\(removed)")
            // The server listens on another free port after the removal.
            let second = try await address(of: child)
            #expect(second.hasPrefix("http://127.0.0.1:"))
            #expect(try await send("/", to: second).status == 200)
            child.process.terminate()
            #expect(try child.wait().status == 0)
            let ended = try await ChildProcess.run(
                "journal", arguments: ["export", "copy"] + database, in: folder)
            #expect(ended.status == 0 && ended.output == "0 records, 0 pictures, 0 tags.\n", "\(ended)")
        }
    }
}
