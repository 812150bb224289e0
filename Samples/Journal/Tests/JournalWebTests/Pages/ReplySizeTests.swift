import Foundation
import JournalStorage
import LFS
import Testing

@testable import JournalWeb

@Suite("The size of replies", .timeLimit(.minutes(10)))
struct ReplySizeTests {
    /// Decompresses with the system's program, so that the format is checked by another implementation.
    private func decompressed(_ data: Data) async throws -> Data {
        try await blocking {
            let (process, input, output) = (Process(), Pipe(), Pipe())
            process.executableURL = URL(filePath: "/usr/bin/gzip")
            process.arguments = ["-dc"]
            process.standardInput = input
            process.standardOutput = output
            try process.start()
            try input.fileHandleForWriting.write(contentsOf: data)
            try input.fileHandleForWriting.close()
            let result = try output.fileHandleForReading.readToEnd() ?? Data()
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            return result
        }
    }

    @Test("A page is compressed for a browser that accepts it", arguments: ["/settings", "/assets/journal.js"])
    func compressed(_ path: String) async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let plain = try await web.get(path)
            let small = try await web.get(path, headers: ["Accept-Encoding": "gzip, deflate, br"])
            #expect(plain.header("Content-Encoding") == nil && small.header("Content-Encoding") == "gzip")
            #expect(small.header("Vary") == "Accept-Encoding" && small.body.count < plain.body.count / 2)
            #expect(small.header("Content-Length") == "\(small.body.count)")
            #expect(try await decompressed(small.body) == plain.body)
        }
    }

    @Test("Pictures, short replies and the stream of events are not compressed")
    func uncompressed() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let bytes = WebSubject.picture(20_000)
            #expect(try await web.upload(bytes, to: record).status == 201)
            let name = try #require(try await web.journal.loadRecord(record.id).images.first)
            for path in ["\(web.path(record))/images/\(name)", "/health"] {
                let reply = try await web.get(path, headers: ["Accept-Encoding": "gzip"])
                #expect(reply.status == 200 && reply.header("Content-Encoding") == nil)
            }
        }
    }

    @Test(
        "A browser that excludes gzip gets a plain reply",
        arguments: [
            ("gzip", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("gzip; q=0.0", false), ("br", false),
            ("", false), ("xgzip", false),
        ])
    func accepts(_ field: String, isAccepted: Bool) {
        #expect(Gzip.accepts(field) == isAccepted)
    }

    @Test("An asset that has not changed is not sent again")
    func assets() async throws {
        try await withWeb { web in
            let tag = try #require(try await web.get("/assets/pictures.js").header("ETag"))
            let reply = try await web.get("/assets/pictures.js", headers: ["If-None-Match": tag])
            #expect(reply.status == 304 && reply.body.isEmpty)
        }
    }

    @Test("Today shows a page of records, and a few pictures of each")
    func today() async throws {
        try await withWeb { web in
            let start = JournalDay(containing: Date(), in: .gmt).interval.start
            for number in 0..<TimelineRoutes.maxOfToday + 6 {
                let record = TimeRecord(start: start, end: start, timeZone: .gmt, comment: "Record \(number)")
                try await web.journal.saveRecord(record)
                guard number == 0 else { continue }
                for count in 0..<12 {
                    _ = try await web.journal.addImage(
                        from: .bytes(WebSubject.picture(100 + count)), for: record, fileExtension: "png")
                }
            }
            let page = try await web.get("/")
            #expect(page.text.matches(of: /<article/).count == TimelineRoutes.maxOfToday)
            let older = try #require(page.text.firstMatch(of: /href="(\/timeline\?before=[^"]+)"/)).1
            let rest = try await web.get(String(older))
            #expect(rest.text.matches(of: /<article/).count == 6)
            let lines = page.text + rest.text
            #expect(lines.matches(of: /<img src="\/files/).count == RecordView.maxPictures)
            #expect(lines.contains("and 4 pictures more"))
        }
    }
}
