import LFSCache

extension MediaCache {
    /// Closes after the body, however that ends: one that is open keeps a reset from its folder.
    func closing<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            let result = try await body()
            await close()
            return result
        } catch {
            await close()
            throw error
        }
    }
}
