import LFSStorage
import Testing

@Suite("A listing in pages") struct ListingWatchTests {
    @Test("ends with an error when its tokens alternate between pages, or are ever new", arguments: [2, 3, .max])
    func circles(_ period: Int) throws {
        var watch = ListingWatch()
        var count = 0
        let error = #expect(throws: StorageError.self) {
            while true {
                let index = count % period
                count += 1
                try watch.check(["a/\(period == .max ? 0 : index)"], next: "token \(index)")
            }
        }
        #expect(error?.code == .serverError)
        #expect(count <= ListingWatch.patience + 3)
    }

    @Test("ends with an error at once when a page names itself as the next") func sameToken() throws {
        var watch = ListingWatch()
        try watch.check(["a"], next: "token")
        #expect(throws: StorageError.self) { try watch.check(["b"], next: "token") }
    }

    @Test("may be of any length as long as it goes on, and in another order than that of the bytes")
    func goesOn() throws {
        var watch = ListingWatch()
        for index in 0..<10_000 {
            try watch.check(["\(100_000 + index)"], next: "token \(index)")
            try watch.check(["\(50_000 + index)"], next: "other \(index)")
            try watch.check([], next: "empty \(index)")
        }
        try watch.check([], next: nil)
    }
}
