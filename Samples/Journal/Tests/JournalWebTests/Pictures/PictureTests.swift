import Foundation
import GRDB
import JournalStorage
import JournalWeb
import LFS
import Testing

@Suite("Pictures over HTTP", .timeLimit(.minutes(10)))
struct PictureTests {
    @Test("A picture is served unchanged with its type, in whole and in parts")
    func ranges() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let bytes = WebSubject.picture(700_000)
            #expect(try await web.upload(bytes, to: record).status == 201)
            let name = try #require(try await web.journal.loadRecord(record.id).images.first)
            let path = "\(web.path(record))/images/\(name)"
            let whole = try await web.get(path)
            #expect(whole.body == bytes && whole.header("Content-Type") == "image/png")
            let tag = try #require(whole.header("ETag"))
            #expect(try await web.get(path, headers: ["If-None-Match": tag]).status == 304)
            for (range, part) in [
                ("bytes=0-0", bytes[0..<1]), ("bytes=10-", bytes[10...]), ("bytes=-5", bytes.suffix(5)),
                ("bytes=100-600000", bytes[100...600_000]), ("bytes=699999-900000", bytes[699_999...]),
            ] {
                let reply = try await web.get(path, headers: ["Range": range])
                #expect(reply.status == 206 && reply.body == Data(part), "\(range)")
                #expect(reply.header("Content-Range")?.hasSuffix("/700000") == true)
            }
            #expect(try await web.get(path, headers: ["Range": "bytes=700000-"]).status == 416)
            for range in ["bytes=0-1,5-6", "lines=0-1", "bytes=5-1", "bytes=a-b", "bytes=--1"] {
                #expect(try await web.get(path, headers: ["Range": range]).body == bytes, "\(range)")
            }
            #expect(try await web.get(path, headers: ["Range": "bytes=0-0", "If-Range": "\"other\""]).body == bytes)
        }
    }

    @Test("Content that a browser could execute is refused as a picture")
    func refused() async throws {
        try await withWeb { options in
            options.maxPictureByteCount = 1 << 20
        } _: { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let html = Data("<html><script>alert(1)</script></html>".utf8)
            let svg = Data(#"<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>"#.utf8)
            for (bytes, type) in [
                (html, "image/png"), (svg, "image/png"), (html, "text/html"), (svg, "image/svg+xml"),
                (WebSubject.picture(), "image/svg+xml"), (WebSubject.picture(), "text/html"), (html, "image/gif"),
                (WebSubject.picture(), "image/jpeg"), (Data(), "image/png"), (Data([0x89, 0x50]), "image/png"),
                (Data("%PDF-1.7 aaaaaaaaaa".utf8), "image/png"), (WebSubject.picture(), ""),
            ] {
                #expect(try await web.upload(bytes, to: record, type: type).status == 415, "\(type)")
            }
            let large = WebSubject.picture(2 << 20)
            #expect(try await web.upload(large, to: record).status == 413)
            // Without a content length, the size is found during the upload.
            let chunked = Data("\(String(large.count, radix: 16))\r\n".utf8) + large + Data("\r\n0\r\n\r\n".utf8)
            let fields = ["Transfer-Encoding": "chunked", "Content-Length": ""]
            #expect(try await web.upload(chunked, to: record, headers: fields).status == 413)
            #expect(
                try await web.upload(WebSubject.picture(), to: record, headers: ["X-Journal-Token": "0"]).status == 403)
            let files = try await web.journal.database.read { db in try FileData.fetchCount(db) }
            #expect(files == 0)
        }
    }

    @Test("A stored file that is not a picture is served as a download")
    func download() async throws {
        try await withWeb { subject in
            let record = try await subject.record()
            let name = "\(record.id.uuidString.lowercased())_0.png"
            let html = Data("<html><script>alert(1)</script></html>".utf8)
            try await subject.journal.saveImage(html, for: record, filename: name)
            let reply = try await subject.get("\(subject.path(record))/images/\(name)")
            #expect(reply.body == html && reply.header("Content-Type") == "application/octet-stream")
            #expect(reply.header("Content-Disposition") == "attachment")
            #expect(reply.header("X-Content-Type-Options") == "nosniff")
        }
    }

    @Test("An evicted picture is still shown, and can be deleted with a form")
    func evicted() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let bytes = WebSubject.picture(5_000)
            #expect(try await web.upload(bytes, to: record).status == 201)
            try await web.journal.lfs.waitForUploads()
            #expect(try await web.get("/storage/free?keep=0").text.contains("1 picture with 4.8 KiB would be removed"))
            #expect(
                try await web.post("/storage/free", fields: [("keep", "0")]).text.contains(
                    "Removed 1 picture with 4.8 KiB"))
            let name = try #require(try await web.journal.loadRecord(record.id).images.first)
            let path = "\(web.path(record))/images/\(name)"
            #expect(try await web.get(path).body == bytes)
            let file = [("file", try await web.file(name, of: record))]
            #expect(try await web.post("\(path)/delete").status == 400)
            #expect(try await web.post("\(path)/delete", fields: file).status == 303)
            #expect(try await web.get(path).status == 404)
        }
    }

    @Test("A form deletes the picture that it showed, even after a rename")
    func renamed() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            for seed in [UInt8(1), 2] {
                #expect(try await web.upload(WebSubject.picture(seed: seed), to: record).status == 201)
            }
            let names = try await web.journal.loadRecord(record.id).images
            let files = [try await web.file(names[0], of: record), try await web.file(names[1], of: record)]
            let page = try await web.get(web.path(record)).text
            for file in files { #expect(page.contains("name=\"file\" value=\"\(file)\"")) }
            // A device that gave its picture the same name comes first in the order.
            try await web.journal.database.write { db in
                try db.execute(
                    sql: "UPDATE picture SET name = ?, number = 0, position = -position", arguments: [names[0]])
            }
            let path = "\(web.path(record))/images/\(names[0])"
            for _ in 0..<2 { #expect(try await web.post("\(path)/delete", fields: [("file", files[0])]).status == 303) }
            let left = try await web.journal.loadRecord(record.id)
            #expect(left.images.count == 1)
            #expect(try await web.journal.loadImage(filename: left.images[0], for: left) == WebSubject.picture(seed: 2))
        }
    }
}
