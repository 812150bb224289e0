import Foundation
import Hummingbird
import LFSServer
import LFSSyncServer
import Testing

@testable import lfs_server

/// The steps of the operator's handbook (`Server/README.md`), with the built program.
@Suite("Drills of the handbook", .timeLimit(.minutes(10)))
struct DrillTests {
    private static let sqlite = "/usr/bin/sqlite3"

    /// The folder of a machine, with a sync database and a session of Ann.
    private struct Machine {
        let folder: URL
        var token = ""

        var database: String { folder.appending(path: "sync.sqlite").path }
        var objects: URL { folder.appending(path: "objects") }

        init(_ name: String, in parent: URL) throws {
            folder = parent.appending(path: name)
            try FileManager.default.createDirectory(at: objects, withIntermediateDirectories: true)
        }

        func addSession(account: String) async throws -> String {
            let database = try SQLiteDatabase(path: database)
            let token = try await SyncService(database, schema: .uploader).addSession(account: account)
            await database.close()
            return token
        }

        /// Runs the server while the body runs.
        func serve(storage: URL? = nil, _ body: (DrilledDevice) async throws -> Void) async throws {
            let arguments = [
                "--database", database, "--storage", "dir:\((storage ?? objects).path)", "--listen", "127.0.0.1:0",
                "--url", "http://app.example/lfs", "--reserve", "0", "--state", folder.appending(path: "state").path,
            ]
            try await ServerProcess.run(in: folder, arguments: arguments) { process in
                let server = try #require(try process.listeners().first)
                try await body(DrilledDevice(device: .init(server: server, token: token, account: "")))
            }
        }
    }

    /// Runs a body with a temporary folder, and with a machine in it.
    private func drill(_ body: (_ folder: URL, Machine) async throws -> Void) async throws {
        try await ForeignTokenTests.withFolder { folder in
            var machine = try Machine("machine", in: folder)
            machine.token = try await machine.addSession(account: "ann")
            try await body(folder, machine)
        }
    }

    private func run(_ program: String, arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardOutput = FileHandle.nullDevice
        try process.start()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "\(program)")
    }

    /// Copies the claims and then the objects, without the files of the server itself.
    private func copyObjects(_ source: URL, to target: URL) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: source.path)
        for name in ["claims"] + names.filter({ !$0.hasPrefix(".") && $0 != "claims" }) {
            try run("cp", arguments: ["-R", source.appending(path: name).path, target.path])
        }
    }

    @Test(
        "Each row of a restored backup has its object, and devices send the others",
        .enabled(if: FileManager.default.isExecutableFile(atPath: sqlite), "needs sqlite3"))
    func backup() async throws {
        try await drill { folder, machine in
            let backup = try Machine("backup", in: folder)
            var other = try Machine("other", in: folder)
            other.token = machine.token
            try await machine.serve { ann in
                try await ann.add(1)
                // The database comes first. A file may be added between the steps.
                try run(Self.sqlite, arguments: [machine.database, "VACUUM INTO '\(backup.database)'"])
                try await ann.add(2)
                try copyObjects(machine.objects, to: backup.objects)
                try await ann.add(3)
            }
            try copyObjects(backup.objects, to: other.objects)
            try run("cp", arguments: [backup.database, other.database])
            try run(ServerProcess.program, arguments: ["restored", "--database", other.database])
            try await other.serve { ann in
                let reset = try await ann.stream()
                #expect(reset.contains("SyncResetV1") && reset.contains("history"))
                try await ann.acknowledge(reset)
                let rows = try await ann.stream()
                #expect(rows.contains(#""id":"f1""#) && !rows.contains(#""id":"f2""#) && !rows.contains("Reset"))
                #expect(try await ann.download(1) == "text 1")
                // The object of the second row is in the backup. The device uploads the third object again.
                try await ann.push(2, as: 1)
                #expect(try await ann.download(2) == "text 2")
                #expect(try await ann.device.ask("head", key: "phone/3")["object"] == nil)
                try await ann.upload(3)
                try await ann.push(3, as: 2)
                #expect(try await ann.download(3) == "text 3")
            }
        }
    }

    @Test("Devices continue with objects that were copied to another storage")
    func storage() async throws {
        try await drill { folder, machine in
            let next = folder.appending(path: "next")
            try FileManager.default.createDirectory(at: next, withIntermediateDirectories: true)
            try await machine.serve { ann in
                try await ann.add(1)
                // The first copy takes long. The server runs in the meantime.
                try copyObjects(machine.objects, to: next)
                try await ann.add(2)
                try await ann.acknowledge(try await ann.stream())
            }
            try copyObjects(machine.objects, to: next)
            let stranger = try await machine.addSession(account: "eve")
            try await machine.serve(storage: next) { ann in
                #expect(try await ann.download(1) == "text 1")
                #expect(try await ann.download(2) == "text 2")
                try await ann.add(3)
                let lines = try await ann.stream()
                #expect(lines.contains(#""id":"f3""#) && !lines.contains(#""id":"f1""#) && !lines.contains("Reset"))
                // The copied claims protect the namespace.
                let eve = SharedFileTests.Device(server: ann.device.server, token: stranger, account: "")
                #expect(try await eve.refusal("download", key: "phone/1") == "forbidden")
            }
        }
    }

    @Test("A new signing secret ends issued URLs only")
    func secret() async throws {
        try await drill { _, machine in
            var link = ""
            try await machine.serve { ann in
                try await ann.add(1)
                link = try await ann.device.link(to: "phone/1")
                #expect(try await ann.device.server.send("GET", path: link).status == 200)
                try await ann.acknowledge(try await ann.stream())
            }
            try FileManager.default.removeItem(atPath: machine.database + ".secret")
            try await machine.serve { ann in
                #expect(try await ann.device.server.send("GET", path: link).status == 403)
                #expect(try await ann.download(1) == "text 1")
                try await ann.add(2)
                #expect(try await ann.download(2) == "text 2")
                #expect(try await !ann.stream().contains("Reset"))
            }
        }
    }

    @Test("A full disk refuses a push with 503, and the device repeats it later")
    func fullDisk() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            let schema = SyncSchema(tables: [.init("recipe", columns: [.init("title", kind: .text)])])
            let service = try await SyncService(database, schema: schema)
            let token = try await service.addSession(account: "ann")
            let router = Router()
            SyncRoutes(service).add(to: router.group("v1/sync"))
            try await serving(router) { server in
                let ann = DrilledDevice(device: .init(server: server, token: token, account: ""))
                func push(_ number: Int, size: Int) async throws -> RunningServer.Reply {
                    let title = String(repeating: "x", count: size)
                    let row = #""type":"RecipeV1","op":"put","key":"r\#(number)","data":{"title":"\#(title)"}"#
                    return try await ann.post("push", body: #"{"id":"m\#(number)","seq":\#(number),\#(row)}"# + "\n")
                }
                #expect(try await push(1, size: 10).status == 200)
                try await database.write { try $0.run(script: "PRAGMA max_page_count = 1") }
                let refused = try await push(2, size: 200_000)
                #expect(refused.status == 503 && refused.headers["retry-after"] == "60")
                #expect(refused.text.contains("no_space"))
                // Reads continue.
                let lines = try await ann.stream(types: ["RecipeV1"])
                #expect(lines.contains(#""id":"r1""#) && !lines.contains(#""id":"r2""#))
                try await database.write { try $0.run(script: "PRAGMA max_page_count = 100000") }
                #expect(try await push(2, size: 200_000).text.contains("applied"))
                #expect(try await ann.stream(types: ["RecipeV1"]).contains(#""id":"r2""#))
            }
            await database.close()
        }
    }

    @Test("An expired certificate is logged, and its files are replaced without a restart")
    func certificate() async throws {
        try await ForeignTokenTests.withFolder { folder in
            let authority = try TestAuthority(in: folder)
            let expired = try authority.identity("expired", days: -1)
            let renewed = try authority.identity("renewed")
            let files = (certificate: folder.appending(path: "used.pem"), key: folder.appending(path: "used.key"))
            func install(_ identity: TestAuthority.Identity) throws {
                try Data(contentsOf: identity.certificate).write(to: files.certificate, options: .atomic)
                try Data(contentsOf: identity.key).write(to: files.key, options: .atomic)
            }
            try install(expired)
            let arguments = [
                "--database", folder.appending(path: "sync.sqlite").path, "--listen", "127.0.0.1:0", "--url",
                "https://127.0.0.1/lfs", "--reserve", "0", "--state", folder.appending(path: "state").path,
                "--certificate", files.certificate.path, "--key", files.key.path,
            ]
            try await ServerProcess.run(in: folder, arguments: arguments) { process in
                let url = "https://127.0.0.1:\(try process.routes.port)/health/ready"
                func curl(_ trust: [String]) throws -> Int32 {
                    let client = Process()
                    client.executableURL = URL(filePath: "/usr/bin/env")
                    client.arguments = ["curl", "--silent", "--fail", "--noproxy", "*", "--max-time", "300"]
                    client.arguments? += trust + [url]
                    client.standardOutput = FileHandle.nullDevice
                    try client.start()
                    client.waitUntilExit()
                    return client.terminationStatus
                }
                let trust = ["--cacert", authority.certificate.path]
                #expect(try process.log().contains("The certificate has expired"))
                // 60: the certificate cannot be verified. The server itself is ready.
                #expect(try curl(trust) == 60)
                #expect(try curl(["--insecure"]) == 0)
                try install(renewed)
                kill(process.id, SIGHUP)
                try await eventually { try curl(trust) == 0 }
            }
        }
    }
}

/// A device with small files, whose rows and objects have the same numbers.
private struct DrilledDevice: Sendable {
    let device: SharedFileTests.Device

    /// Uploads a file and pushes its row.
    func add(_ number: Int) async throws {
        try await upload(number)
        try await push(number, as: number)
    }

    func upload(_ number: Int) async throws {
        #expect(try await device.upload("text \(number)", to: "phone/\(number)") == 200)
    }

    /// - Parameter sequence: the number of the mutation.
    func push(_ number: Int, as sequence: Int) async throws {
        let line = SharedFileTests.fileRow("f\(number)", key: "phone/\(number)", text: "text \(number)")
        #expect(try await device.push(sequence, line: line).contains("applied"))
    }

    func download(_ number: Int) async throws -> String {
        try await device.server.send("GET", path: try await device.link(to: "phone/\(number)")).text
    }

    func post(_ path: String, body: String) async throws -> RunningServer.Reply {
        try await device.server.send(
            "POST", path: "/v1/sync/\(path)", headers: ["Authorization": "Bearer \(device.token)"], body: body)
    }

    func stream(types: [String] = ["FileV1"]) async throws -> String {
        let list = types.map { "\"\($0)\"" }.joined(separator: ",")
        return try await post("stream", body: #"{"protocol":1,"types":[\#(list)]}"#).text
    }

    /// Acknowledges the last token of each type in a stream.
    func acknowledge(_ stream: String) async throws {
        let tokens = stream.matches(of: /"ack":"(([^|]+)\|[^"]+)"/)
        let last = Dictionary(tokens.map { ($0.2, $0.1) }) { _, newer in newer }
        let list = last.values.map { "\"\($0)\"" }.joined(separator: ",")
        #expect(try await post("ack", body: #"{"batch":1,"id":"b1","acks":[\#(list)]}"#).status == 204)
    }
}
