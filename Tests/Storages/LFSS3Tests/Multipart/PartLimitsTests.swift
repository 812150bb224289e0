import LFSHTTPStorage
import Testing

@testable import LFSS3

@Suite("Part limits") struct PartLimitsTests {
    private static let gibibyte: Int64 = 1 << 30

    @Test("An object of 5 TiB fits into at most 10,000 parts of 5 GiB", arguments: S3Provider.all)
    func largestObject(_ provider: S3Provider) throws {
        let plan = try? PartPlan(byteCount: 5 << 40, partSize: nil, provider)
        guard let plan else {
            // 1,000 parts of 5 GiB are less than 5 TiB.
            #expect(provider.maximumPartCount == 1_000)
            return
        }
        #expect(plan.count <= min(provider.maximumPartCount, 10_000))
        #expect(plan.partSize <= 5 * Self.gibibyte)
        #expect(plan.partSize >= provider.minimumPartSize)
        #expect(plan.part(plan.count).range.upperBound == 5 << 40)
    }

    @Test("Parts respect the provider's minimum size and maximum count") func limits() throws {
        let plan = try PartPlan(byteCount: Self.gibibyte, partSize: nil, .storj)
        #expect(plan.partSize == 64 << 20)
        let few = try PartPlan(byteCount: 100 * Self.gibibyte, partSize: 5 << 20, .openStackSwift)
        #expect(few.count <= 1_000)
    }

    @Test("A part size from an earlier attempt is refused if it needs too many parts") func tooMany() {
        #expect(PartPlan(byteCount: 10_000, partSize: 1) != nil)
        #expect(PartPlan(byteCount: 10_001, partSize: 1) == nil)
    }
}
