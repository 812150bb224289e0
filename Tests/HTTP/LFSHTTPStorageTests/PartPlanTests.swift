import LFSHTTPStorage
import LFSStorage
import Testing

@Suite("Part plans") struct PartPlanTests {
    private static let mebibyte: Int64 = 1 << 20
    private static let gibibyte: Int64 = 1 << 30

    /// The limits of Amazon S3.
    private static let wide = PartLimits(maximumCount: 10_000, minimumSize: 5 * mebibyte, maximumSize: 5 * gibibyte)
    private static let few = PartLimits(maximumCount: 1_000, minimumSize: 5 * mebibyte, maximumSize: 5 * gibibyte)

    @Test(
        "A part plan covers every byte exactly once",
        arguments: [1, 5_242_880, 5_242_881, 104_857_600, 1_073_741_831, 3_298_534_883_328] as [Int64],
        [nil, 1, 5_242_880, 1_073_741_824] as [Int64?])
    func coverage(_ byteCount: Int64, wanted: Int64?) throws {
        let plan = try PartPlan(byteCount: byteCount, partSize: wanted, Self.wide)
        var end: Int64 = 0
        for number in 1...plan.count {
            let part = plan.part(number)
            #expect(part.number == number)
            #expect(part.range.lowerBound == end)
            #expect(!part.range.isEmpty)
            if number < plan.count { #expect(Int64(part.range.count) == plan.partSize) }
            end = part.range.upperBound
        }
        #expect(end == byteCount)
        #expect(plan.count <= 10_000)
        #expect(plan.partSize >= 5 << 20)
    }

    @Test("The requested part size is rounded up to whole MiB") func wantedSize() throws {
        let wanted = 8 * Self.mebibyte
        #expect(try PartPlan(byteCount: Self.gibibyte, partSize: wanted, Self.wide).partSize == wanted)
        #expect(
            try PartPlan(byteCount: Self.gibibyte, partSize: wanted + 1, Self.wide).partSize == wanted + Self.mebibyte)
    }

    @Test("Parts are larger than requested if there would be too many") func tooManyParts() throws {
        let plan = try PartPlan(byteCount: 100 * Self.gibibyte, partSize: 5 * Self.mebibyte, Self.wide)
        #expect(plan.partSize == 11 * Self.mebibyte)
        let few = try PartPlan(byteCount: 100 * Self.gibibyte, partSize: 5 * Self.mebibyte, Self.few)
        #expect(few.count <= 1_000)
    }

    @Test("Parts are at least as large as the minimum") func smallestPart() throws {
        #expect(try PartPlan(byteCount: Self.gibibyte, partSize: 1, Self.wide).partSize == 5 * Self.mebibyte)
        let large = PartLimits(maximumCount: 10_000, minimumSize: 64 * Self.mebibyte, maximumSize: 5 * Self.gibibyte)
        #expect(try PartPlan(byteCount: Self.gibibyte, partSize: nil, large).partSize == 64 * Self.mebibyte)
    }

    @Test("A tiny or empty file has one part", arguments: [0, 1, 4_096])
    func tinyFile(_ byteCount: Int64) throws {
        let plan = try PartPlan(byteCount: byteCount, partSize: nil, Self.wide)
        #expect(plan.count == 1)
        #expect(plan.part(1).range == 0..<byteCount)
    }

    @Test("A file that fits into no plan is refused") func tooLarge() throws {
        let error = #expect(throws: StorageError.self) {
            try PartPlan(byteCount: 6 << 40, partSize: nil, Self.few)
        }
        #expect(error?.code == .tooLarge)
        #expect(error?.isRetryable == false)
        #expect(error?.message.contains("1000 parts of 5 GiB") == true)
    }

    @Test(
        "An invalid part size from an earlier attempt is refused",
        arguments: [(100, 0), (100, -1), (10_001, 1), (5_497_558_138_880, 5_242_880)] as [(Int64, Int64)])
    func senseless(_ byteCount: Int64, partSize: Int64) {
        #expect(PartPlan(byteCount: byteCount, partSize: partSize, maximumCount: 10_000) == nil)
    }

    @Test("Any numbers in a checkpoint are handled without an overflow")
    func extremes() throws {
        let numbers: [Int64] = [.min, -1, 0, 1, 5 << 20, 1 << 50, .max - 1, .max]
        for byteCount in numbers {
            for partSize in numbers {
                guard let plan = PartPlan(byteCount: byteCount, partSize: partSize, maximumCount: 10_000) else {
                    continue
                }
                #expect(plan.part(1).range.lowerBound == 0)
                #expect(plan.part(plan.count).range.upperBound == byteCount)
            }
            #expect(throws: StorageError.self) {
                try PartPlan(byteCount: .max, partSize: byteCount, Self.wide)
            }
        }
    }
}
