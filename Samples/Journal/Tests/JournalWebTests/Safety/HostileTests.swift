import Foundation
import GRDB
import JournalStorage
import JournalWeb
import LFS
import Testing

@Suite("Hostile requests", .timeLimit(.minutes(10)))
struct HostileTests {
    /// The headers of every reply, including refusals.
    static let needed = [
        "content-security-policy", "x-content-type-options", "x-frame-options", "referrer-policy",
        "cross-origin-opener-policy", "cross-origin-resource-policy", "permissions-policy", "cache-control",
    ]

    private static func hasHeaders(_ reply: HTTPReply) -> Bool {
        needed.allSatisfy { reply.header($0) != nil } && reply.header("x-content-type-options") == "nosniff"
            && reply.header("content-security-policy")?.hasPrefix("default-src 'none'") == true
    }

    /// Returns everything that a request could have changed or created.
    private static func state(_ web: WebSubject) async throws -> String {
        let records = try await web.journal.loadAllRecords()
        let tags = try await web.journal.loadTags()
        let albums = try await web.journal.loadAlbums(of: "me")
        let files = try await web.journal.database.read { db in try FileData.fetchCount(db) }
        return "\(records) \(tags) \(albums) \(files)"
    }

    private func refused(_ requests: @escaping (WebSubject, TimeRecord) -> [(name: String, bytes: Data)]) async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
            let before = try await Self.state(web)
            for (name, bytes) in requests(web, record) {
                guard let reply = try await web.send(bytes) else { continue }
                #expect((400..<500).contains(reply.status), "\(name): \(reply.status)")
                #expect(Self.hasHeaders(reply), "\(name): \(reply.headers)")
                #expect(!reply.text.contains("root:") && !reply.text.contains("SQLite"), "\(name)")
            }
            #expect(try await Self.state(web) == before)
            #expect(try await web.get("/health").status == 200)
        }
    }

    private func request(_ web: WebSubject, line: String, fields: [String], _ body: String = "") -> Data {
        let all = ["Connection: close", "Cookie: \(web.cookie)"] + fields
        return Data((["\(line) HTTP/1.1"] + all).joined(separator: "\r\n").utf8) + Data("\r\n\r\n\(body)".utf8)
    }

    @Test("Path traversal is refused in every encoding")
    func traversal() async throws {
        let names = [
            "../../../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd",
            "..%252f..%252fetc%252fpasswd",
            "%252e%252e%252fetc%252fpasswd", "..%c0%af..%c0%afetc/passwd", "..%5c..%5cetc%5cpasswd",
            "..\\..\\etc\\passwd",
            "%00", "journal.sqlite", "../journal.sqlite", "%2e%2e%2fjournal.sqlite", "....//....//etc/passwd",
            "/etc/passwd", "file:///etc/passwd", "x%0d%0aSet-Cookie:%20a=b", "*", "~root", "%", "%zz", "%f0%9f%92%a9",
            String(repeating: "a", count: 5_000), String(repeating: "../", count: 500),
        ]
        try await refused { web, record in
            let host = ["Host: \(web.address)"]
            let id = web.path(record)
            let places = [
                "/", "/assets/", "/records/", "\(id)/", "\(id)/images/", "/files/", "/albums/", "/thumbnails/",
                "\(id)/images/\(record.id.uuidString.lowercased())_",
            ]
            return places.flatMap { place in
                names.map { ("\(place)\($0)", self.request(web, line: "GET \(place)\($0)", fields: host)) }
            }
                + names.flatMap { name -> [(String, Data)] in
                    [
                        "/files/\(name)/thumbnail", "/timeline?before=\(name)", "/pictures?month=\(name)&part=0",
                        "/pictures?month=2026-11&part=\(name)",
                    ].map { ($0, self.request(web, line: "GET \($0)", fields: host)) }
                }
        }
    }

    @Test("A change without this server's origin is refused before it is routed")
    func origin() async throws {
        try await refused { web, record in
            let own = web.origin
            let origins: [[String]] = [
                [], ["Origin: null"], ["Origin: http://evil.example"], ["Origin: https://\(web.address)"],
                ["Origin: \(own).evil.example"], ["Origin: \(own)@evil.example"], ["Origin: \(own)/"],
                ["Origin: http://localhost:1"], ["Origin: \(own)", "Origin: http://evil.example"],
                ["Origin: \(own)", "Sec-Fetch-Site: cross-site"], ["Origin: \(own)", "Sec-Fetch-Site: same-site"],
                ["Sec-Fetch-Site: none"], ["Sec-Fetch-Site: cross-site"], ["Referer: \(own)/"],
            ]
            let body = "token=\(web.token)&comment=x&name=x&sure=yes"
            let paths = [
                "/records", web.path(record), "\(web.path(record))/delete", "/albums", "/storage/pause", "/nothing",
            ]
            return paths.flatMap { path in
                origins.map { origin in
                    let fields = [
                        "Host: \(web.address)", "Content-Type: application/x-www-form-urlencoded",
                        "Content-Length: \(body.utf8.count)",
                    ]
                    return ("\(path) \(origin)", self.request(web, line: "POST \(path)", fields: fields + origin, body))
                }
            }
        }
        try await withWeb { subject in
            let web = try await subject.visiting()
            let reply = try await web.post("/nothing", fields: [], headers: ["Origin": "http://evil.example"])
            #expect(reply.status == 403)
        }
    }

    @Test("A request for another host name is refused")
    func host() async throws {
        try await refused { web, _ in
            let port = web.address.port
            let hosts: [[String]] = [
                [], ["Host:"], ["Host: evil.example"], ["Host: evil.example:\(port)"], ["Host: 127.0.0.1.evil.example"],
                ["Host: 127.0.0.1:\(port)@evil.example"], ["Host: 127.0.0.1:\(port), evil.example"],
                ["Host: evil.example", "Host: 127.0.0.1:\(port)"], ["Host: 127.0.0.1:\(port)", "Host: evil.example"],
                ["Host: 0.0.0.0"], ["Host: [::ffff:7f00:1]"], ["Host: 127.0.0.1:99999"], ["Host: localhost evil"],
            ]
            return hosts.map { ("\($0)", self.request(web, line: "GET /", fields: $0)) }
                + [("absolute", self.request(web, line: "GET http://evil.example/", fields: ["Host: evil.example"]))]
        }
    }

    @Test("Forms with a wrong token, type or size change nothing")
    func forms() async throws {
        let other = String(repeating: "0", count: 64)
        try await refused { web, record in
            let head = ["Host: \(web.address)", "Origin: \(web.origin)"]
            let form = head + ["Content-Type: application/x-www-form-urlencoded"]
            let big = String(repeating: "x", count: 3 << 20)
            func post(_ path: String, fields: [String], _ body: String) -> Data {
                self.request(web, line: "POST \(path)", fields: fields + ["Content-Length: \(body.utf8.count)"], body)
            }
            let paths = ["/records", "\(web.path(record))/delete", "/albums", "/storage/verify", "/storage/free"]
            return paths.flatMap { path in
                [
                    ("no token", post(path, fields: form, "comment=x&name=x&sure=yes&keep=0")),
                    ("other token", post(path, fields: form, "token=\(other)&comment=x&name=x&sure=yes&keep=0")),
                    ("empty token", post(path, fields: form, "token=&name=x&sure=yes")),
                    (
                        "json",
                        post(path, fields: head + ["Content-Type: application/json"], #"{"token":"\#(web.token)"}"#)
                    ),
                    (
                        "text",
                        post(path, fields: head + ["Content-Type: text/plain"], "token=\(web.token)&name=x&sure=yes")
                    ),
                    ("no type", post(path, fields: head, "token=\(web.token)&name=x&sure=yes")),
                    ("too large", post(path, fields: form, "token=\(web.token)&name=x&sure=yes&comment=\(big)")),
                    (
                        "other cookie",
                        post(
                            path, fields: form + ["Cookie: journal=in.x.y"], "token=\(other)&comment=x&name=x&sure=yes")
                    ),
                ]
            }
        }
    }

    @Test("Only GET, HEAD and POST are accepted, regardless of override fields")
    func methods() async throws {
        try await refused { web, record in
            let methods = ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "post"]
            let fields = ["Host: \(web.address)", "Origin: \(web.origin)"]
            return methods.flatMap { method in
                [web.path(record), "/records"].map {
                    ("\(method) \($0)", self.request(web, line: "\(method) \($0)", fields: fields))
                }
            }
                + ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"].map {
                    ($0, self.request(web, line: "GET \(web.path(record))/delete", fields: fields + ["\($0): POST"]))
                }
        }
    }

    @Test("Ambiguous requests are refused or end the connection")
    func smuggling() async throws {
        try await refused { web, _ in
            let body = "token=\(web.token)&comment=x"
            let fields = [
                "Host: \(web.address)", "Origin: \(web.origin)", "Content-Type: application/x-www-form-urlencoded",
            ]
            let tricks: [[String]] = [
                ["Content-Length: 5", "Content-Length: \(body.utf8.count)"],
                ["Content-Length: \(body.utf8.count)", "Transfer-Encoding: chunked"],
                ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], ["Transfer-Encoding: xchunked"],
                ["Content-Length: -1"], ["Content-Length: +5"], ["Content-Length: 0x10"], ["Content-Length : 5"],
                ["Content-Length: 99999999999999999999"], ["X-A: a\rOrigin: b"], [" X-Folded: a"], ["X-A: \u{0}"],
                ["X-Long: \(String(repeating: "a", count: 100_000))"],
            ]
            return tricks.map {
                ("\($0.joined().prefix(60))", self.request(web, line: "POST /records", fields: fields + $0, body))
            }
                + [
                    ("many", self.request(web, line: "GET /", fields: fields + (0..<2_000).map { "X-\($0): a" })),
                    ("no version", Data("GET /\r\n\r\n".utf8)), ("nonsense", Data("\u{16}\u{3}\u{1}\r\n\r\n".utf8)),
                    (
                        "long line",
                        self.request(web, line: "GET /" + String(repeating: "a", count: 200_000), fields: fields)
                    ),
                ]
        }
    }
}
