public import ArgumentParser
public import MeshControl

extension AssetPoliciesReport.Policy: ExpressibleByArgument {}
extension SharePermission: ExpressibleByArgument {}
