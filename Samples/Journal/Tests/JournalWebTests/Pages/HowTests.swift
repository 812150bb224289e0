import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSStorage
import LFSTesting
import Synchronization
import Testing

@Suite("The page How it works", .timeLimit(.minutes(10)))
struct HowTests {
    /// Returns the number of files that the page shows in a stage.
    private func files(_ page: HTTPReply, in stage: String) throws -> Int {
        let start = try #require(page.text.range(of: "data-stage=\"\(stage)\""))
        let match = try #require(page.text[start.upperBound...].firstMatch(of: /<strong>([0-9]+)<\/strong>/))
        return try #require(Int(match.1))
    }

    private func upload(_ web: WebSubject) async throws -> FileData {
        let record = try await web.record()
        #expect(try await web.upload(WebSubject.picture(), to: record).status == 201)
        let name = try #require(try await web.journal.loadRecord(record.id).images.first)
        return try await web.journal.imageFile(filename: name, for: record)
    }

    /// Runs a test of a journal whose page has switches for faults.
    private func withSwitches(_ body: (WebSubject, DemoStorage) async throws -> Void) async throws {
        let storage = DemoStorage(InMemoryStorage())
        try await withWeb(storage: storage) {
            $0.faults = storage
        } _: { subject in
            try await body(try await subject.visiting(), storage)
        }
    }

    /// Switches the fault "storage away" with the form of the page.
    private func setAway(_ isOn: Bool, on web: WebSubject) async throws {
        let fields = [("fault", "away"), ("on", isOn ? "yes" : "no")]
        #expect(try await web.post("/demo/fault", fields: fields).status == 303)
    }

    @Test("A file is counted in each stage that it passes")
    func stages() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            web.journal.lfs.pause()
            let file = try await upload(web)
            let queued = try await web.get("/how")
            #expect(try files(queued, in: "queue") == 1)
            #expect(queued.text.contains("Uploads are held: Uploads are paused."))
            #expect(queued.text.contains("badge held"))
            web.journal.lfs.resume()
            try await web.journal.lfs.waitForUploads()
            let uploaded = try await web.get("/how")
            #expect(uploaded.text.contains("The storage answers."))
            #expect(!uploaded.text.contains("The storage is unavailable"))
            #expect(try files(uploaded, in: "queue") == 0)
            #expect(try files(uploaded, in: "remote") == 1)
            #expect(try files(uploaded, in: "folder") == 1)
            #expect(try files(uploaded, in: "freed") == 0)
            try await web.journal.lfs.evict(file.id)
            let freed = try await web.get("/how?file=\(file.id)")
            #expect(try files(freed, in: "freed") == 1)
            #expect(try files(freed, in: "folder") == 0)
            #expect(freed.text.contains("Rows of the chosen file") && freed.text.contains(file.sha256))
        }
    }

    @Test("Without faults to switch the page has no switches")
    func noFaults() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            #expect(try await web.get("/how").text.contains("/demo/fault") == false)
            #expect(try await web.post("/demo/fault", fields: [("fault", "away"), ("on", "yes")]).status == 404)
            #expect(try await web.post("/demo/fill").status == 404)
        }
    }

    @Test("An unknown file or fault is answered with 400")
    func invalid() async throws {
        try await withSwitches { web, _ in
            let page = try await web.get("/how?file=none")
            #expect(page.status == 400)
            let fault = try await web.post("/demo/fault", fields: [("fault", "fire"), ("on", "yes")])
            #expect(fault.status == 400)
        }
    }

    @Test("With the storage away a file waits, and is uploaded when the storage is back")
    func away() async throws {
        try await withSwitches { web, storage in
            try await setAway(true, on: web)
            #expect(storage.active == [.away])
            var events = web.journal.lfs.events().makeAsyncIterator()
            _ = try await upload(web)
            while let event = await events.next() {
                if case .outage(.some) = event { break }
            }
            #expect(try await web.get("/how").text.contains("The storage is unavailable: The network is switched off."))
            try await setAway(false, on: web)
            // The test asks for no other attempt: LFS finds out that the storage is back. It records that after the
            // uploads.
            while let event = await events.next() {
                if case .outage(nil) = event { break }
            }
            try await web.journal.lfs.waitForUploads()
            #expect(try await web.get("/how").text.contains("The storage answers."))
        }
    }

    @Test("With a full storage the badge gives the next attempt")
    func full() async throws {
        let storage = DemoStorage(InMemoryStorage())
        storage.set(.full, isOn: true)
        try await withWeb(storage: storage) { subject in
            let web = try await subject.visiting()
            var events = web.journal.lfs.events().makeAsyncIterator()
            let file = try await upload(web)
            while let event = await events.next() {
                if case .failed = event { break }
            }
            let page = try await web.get("/files/\(file.id)/inspect")
            #expect(page.text.contains("The storage is full."))
            storage.set(.full, isOn: false)
            try await web.journal.lfs.retry()
            try await web.journal.lfs.waitForUploads()
        }
    }

    @Test("The demo fills only an empty journal")
    func fill() async throws {
        try await withWeb { options in
            options.fillDemo = { journal in
                try await journal.saveRecord(TimeRecord(start: Date(), timeZone: .gmt, comment: "Sample"))
            }
        } _: { subject in
            let web = try await subject.visiting()
            #expect(try await web.get("/").text.contains("Look at a demo"))
            #expect(try await web.post("/demo/fill").header("Location") == "/how")
            #expect(try await web.get("/").text.contains("Sample"))
            #expect(try await web.post("/demo/fill").status == 400)
        }
    }

    @Test("A record for dropped pictures has ended and is opened")
    func ended() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            #expect(try await web.get("/pictures").text.contains("This journal is empty."))
            let reply = try await web.post("/records", fields: [("comment", "Pictures"), ("ended", "yes")])
            let record = try #require(try await web.journal.loadRecords(before: nil, limit: 1).first)
            #expect(reply.header("Location") == web.path(record) && !record.isRunning)
        }
    }

    @Test("After a fault is switched off, the bytes of all files are compared")
    func rounds() async throws {
        try await withSwitches { web, _ in
            try await setAway(true, on: web)
            _ = try await upload(web)
            try await setAway(false, on: web)
            let text = "after the storage was away: LFS compared the bytes of 1 local copy and 1 object. All are right"
            try await web.shows("/how", text: text)
        }
    }

    @Test("The switch kills the process once, and the page counts the restarts")
    func kill() async throws {
        let storage = DemoStorage(InMemoryStorage())
        let kills = Mutex(0)
        try await withWeb(storage: storage) { options in
            options.faults = storage
            options.restarts = 2
            options.killDemo = { kills.withLock { $0 += 1 } }
        } _: { subject in
            let web = try await subject.visiting()
            let page = try await web.get("/how")
            #expect(page.text.contains("Kill it now") && page.text.contains("The process was killed 2 times"))
            #expect(try await web.post("/demo/kill").header("Location") == "/how")
            #expect(kills.withLock { $0 } == 1)
            try await web.shows("/how", text: "after the process was killed")
        }
    }

    @Test("A journal without a supervisor has no switch that kills it")
    func safe() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            #expect(try await !web.get("/how").text.contains("Kill it now"))
            #expect(try await web.post("/demo/kill").status == 404)
        }
    }
}
