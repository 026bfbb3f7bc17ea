// SPDX-License-Identifier: Apache-2.0
#include "analyze/kernel_family.h"

#include <gtest/gtest.h>

#include <string>

namespace hone::analyze {
namespace {

using enum KernelFamily;
using P = Precision;
using M = MatrixUnit;

struct Case {
  const char* name;
  KernelFamily family;
  Precision precision;
  MatrixUnit unit;
};

void Check(const Case& expected) {
  const KernelTraits traits = ClassifyKernel(expected.name);
  EXPECT_STREQ(FamilyName(traits.family), FamilyName(expected.family)) << expected.name;
  EXPECT_STREQ(PrecisionName(traits.precision), PrecisionName(expected.precision)) << expected.name;
  EXPECT_STREQ(MatrixUnitName(traits.matrix_unit), MatrixUnitName(expected.unit)) << expected.name;
}

TEST(KernelFamily, CublasOnHopperAndBlackwell) {
  for (const Case& expected : {
           Case{"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT", kMatmul, P::kFp16, M::kYes},
           Case{"nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NTT", kMatmul, P::kBf16, M::kYes},
           Case{"nvjet_sm90_tss_64x24_64x16_1x4_h_bz_TNT", kMatmul, P::kBf16, M::kYes},
           Case{"nvjet_sm90_qqtst_128x128_128x6_2x1_v_bz_coopA_algo2_TNT", kMatmul, P::kFp8,
                M::kYes},
           Case{"nvjet_sm90_qrsss_128x128_128x6_1x2_h_bz_coopA_algo2_TNT", kMatmul, P::kFp8,
                M::kYes},
           Case{"nvjet_ootst_128x192_128x4_2x1_2cta_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT", kMatmul,
                P::kFp4, M::kYes},
           Case{"nvjet_sm100_tst_64x32_64x16_2x1_2cta_v_bz_TNT", kMatmul, P::kBf16, M::kYes},
           Case{"nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_bz_TNNN", kMatmul, P::kBf16,
                M::kYes},
           Case{"nvjet_sm110_xyz_64x64_1", kMatmul, P::kUnknown, M::kYes},
           Case{"nvjet_", kMatmul, P::kUnknown, M::kYes},
       }) {
    Check(expected);
  }
}

TEST(KernelFamily, CublasAndCutlassUpToAmpere) {
  for (
      const Case& expected : {
          Case{"ampere_sgemm_128x64_nn", kMatmul, P::kFp32, M::kNo},
          Case{"volta_sgemm_32x32_sliced1x4_nn", kMatmul, P::kFp32, M::kNo},
          Case{"ampere_h16816gemm_128x128_ldg8_stages_32x5_nn", kMatmul, P::kFp16, M::kYes},
          Case{"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn", kMatmul, P::kBf16,
               M::kYes},
          Case{"turing_s1688gemm_fp16_128x128_ldg8_f2f_tn", kMatmul, P::kFp16, M::kYes},
          Case{"volta_h884gemm_64x128_ldg8_nn", kMatmul, P::kFp16, M::kYes},
          Case{"volta_hgemm_64x64_nn", kMatmul, P::kFp16, M::kNo},
          Case{"ampere_d884gemm_128x64_tn", kMatmul, P::kFp64, M::kYes},
          Case{"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_"
               "aligna4_alignc4_execute_kernel__5x_cublas",
               kMatmul, P::kFp32, M::kNo},
          Case{"sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1_"
               "execute_segment_k_off_kernel__5x_cublas",
               kMatmul, P::kTf32, M::kYes},
          Case{"sm90_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize128x64x16_stage3_tensor16x8x8_kernel",
               kMatmul, P::kFp64, M::kYes},
          Case{"sm90_xmma_gemm_e4m3bf16_e4m3f32_f32_tn_n_tilesize64x64x128_kernel", kMatmul,
               P::kFp8, M::kYes},
          Case{"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nn_align1>(cutlass_80_simt_"
               "sgemm_64x64_8x5_nn_align1::Params)",
               kMatmul, P::kFp32, M::kNo},
          Case{"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>(…)",
               kMatmul, P::kTf32, M::kYes},
          Case{
              "void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_"
              "align8>(…)",
              kMatmul, P::kBf16, M::kYes},
          Case{
              "void cutlass::Kernel2<cutlass_80_tensorop_i16832gemm_s8_128x256_128x3_tn_align16>()",
              kMatmul, P::kInt8, M::kYes},
          Case{"cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1", kMatmul, P::kFp32,
               M::kNo},
          Case{"void gemvNSP_kernel<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, 1, 32, "
               "cublasGemvParamsEx<int> >",
               kMatmul, P::kBf16, M::kNo},
          // Near misses: words of a product in the name of a helper.
          Case{"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>()",
               kReduction, P::kFp32, M::kNotApplicable},
          Case{"void fbgemm_gpu::permute_2D_lengths_kernel<int>(int, int)", kCopyCast, P::kInt,
               M::kNotApplicable},
          Case{"void scal_kernel_val<float, float>(cublasScalParamsVal<float, float>)",
               kElementwise, P::kFp32, M::kNotApplicable},
      }) {
    Check(expected);
  }
}

TEST(KernelFamily, Convolution) {
  for (
      const Case& expected : {
          Case{
              "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64",
              kConvolution, P::kBf16, M::kYes},
          Case{"sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_"
               "stage4_warpsize2x2x1_g1_tensor16x8x8_execute_kernel_cudnn_infer",
               kConvolution, P::kTf32, M::kYes},
          Case{"sm80_xmma_wgrad_implicit_gemm_indexed_f32f32_f32f32_f32_nhwckrsc_nhwc_ffma_execute",
               kConvolution, P::kFp32, M::kNo},
          Case{"cudnn_infer_volta_scudnn_128x64_relu_small_nn_v1", kConvolution, P::kFp32, M::kNo},
          Case{"trt_turing_h1688cudnn_256x64_ldg8_relu_exp_small_nhwc_tn_v1", kConvolution,
               P::kFp16, M::kYes},
          Case{"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false>()",
               kConvolution, P::kFp32, M::kNo},
          Case{"void cudnn::cnn::wgrad_alg1_engine<float, float, 128, 5, 5, 3, 3, 3>()",
               kConvolution, P::kFp32, M::kNo},
          Case{"void cutlass__5x_cudnn::Kernel<cutlass_tensorop_bf16_s16816fprop_optimized_bf16_"
               "256x64_32x4_nhwc_align8>()",
               kConvolution, P::kBf16, M::kYes},
          Case{"conv2d_c1_k1_nhwc_specialized", kConvolution, P::kUnknown, M::kNo},
          Case{"igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt64x128x32_wt32x32x8", kConvolution, P::kBf16,
               M::kYes},
          Case{"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>()", kCopyCast,
               P::kFp16, M::kNotApplicable},
          Case{"void cask_cudnn::computeOffsetsKernel<false, false>()", kOther, P::kUnknown,
               M::kNotApplicable},
      }) {
    Check(expected);
  }
}

TEST(KernelFamily, Attention) {
  for (const Case& expected : {
           Case{"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, "
                "128, "
                "128, 4, false, false, cutlass::bfloat16_t> >()",
                kAttention, P::kBf16, M::kYes},
           Case{"void pytorch_flash::flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, "
                "cutlass::half_t> >()",
                kAttention, P::kFp16, M::kNotApplicable},
           Case{"fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention)", kAttention,
                P::kTf32, M::kYes},
           Case{"fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention)", kAttention,
                P::kFp32, M::kNo},
           Case{"fmha_cutlassB_bf16_aligned_64x64_k64_dropout_sm80()", kAttention, P::kBf16,
                M::kYes},
           Case{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64",
                kAttention, P::kUnknown, M::kYes},
           Case{"fmhaSm100fKernel_QkvBfloat16OBfloat16H128PagedKvCausalP64VarSeqQ16Kv128",
                kAttention, P::kBf16, M::kYes},
           Case{"fmhaSm100aKernel_QkvE4m3OBfloat16HQk576HV512PagedKvDense", kAttention, P::kFp8,
                M::kYes},
           Case{"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<"
                "flash::CollectiveMainloopFwdSm90<2, cutlass::bfloat16_t, float> > > >",
                kAttention, P::kBf16, M::kYes},
           Case{"void vllm::paged_attention_v2_kernel<unsigned short, 128, 16>", kAttention,
                P::kUnknown, M::kNo},
           Case{"_ZN5aiter32fmha_fwd_hd192_hd128_bf16_causalE", kAttention, P::kBf16, M::kYes},
           Case{"kernel_unified_attention_2d", kAttention, P::kUnknown, M::kUnknown},
       }) {
    Check(expected);
  }
}

TEST(KernelFamily, TensorRtAndRocm) {
  for (const Case& expected : {
           Case{"bmm_Bfloat16_E2m1E2m1_Fp32_bA16_bB16_t128x8x512", kMatmul, P::kFp4, M::kYes},
           Case{"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_Ab32_Bb32_Cb32_t128x128x256u2", kMatmul, P::kMixed,
                M::kYes},
           Case{"bmm_E4m3_E4m3E4m3_Fp32_t128x8x128u2", kMatmul, P::kFp8, M::kYes},
           Case{"Cijk_Alik_Bljk_HHS_BH_MT128x128x32_MI16x16x16x1_SE_1LDSB0", kMatmul, P::kFp16,
                M::kYes},
           Case{"Cijk_Alik_Bljk_B_BS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN", kMatmul,
                P::kBf16, M::kYes},
           Case{"Custom_Cijk_Alik_Bljk_F8B8BS_BH_Bias_MT256x256x128_MI16x16x1", kMatmul, P::kFp8,
                M::kYes},
           Case{"Cijk_Alik_Bljk_SB_MT64x128x16_SN_1LDSB0_APM1", kMatmul, P::kFp32, M::kNo},
           Case{"Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16_MI16x16x1_SN", kMatmul, P::kFp32,
                M::kYes},
           Case{"Cijk_", kMatmul, P::kUnknown, M::kNo},
           Case{"MIOpenBatchNormFwdTrainSpatial", kNorm, P::kUnknown, M::kNotApplicable},
       }) {
    Check(expected);
  }
}

TEST(KernelFamily, PytorchNative) {
  const std::string native = "void at::native::";
  const struct {
    const char* tail;
    KernelFamily family;
    Precision precision;
  } cases[] = {
      {"vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, "
       "3ul> >",
       kElementwise, P::kFp32},
      {"vectorized_elementwise_kernel<8, "
       "at::native::bfloat16_copy_kernel_cuda()::{lambda(float)#1}>",
       kCopyCast, P::kBf16},
      {"unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda()::{lambda(double)#1}>",
       kCopyCast, P::kFp64},
      {"vectorized_elementwise_kernel<4, "
       "at::native::nan_to_num_kernel_cuda(c10::optional<double>)::"
       "{lambda(float)#1}>",
       kElementwise, P::kFp32},
      {"vectorized_elementwise_kernel<2, at::native::CUDAFunctor_add<long>, std::array<char*, 3ul> "
       ">",
       kElementwise, P::kInt},
      {"reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::MeanOps<float> > >",
       kReduction, P::kBf16},
      {"(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half, float, false>()", kNorm,
       P::kFp16},
      {"batch_norm_collect_statistics_channels_last_kernel<at::native::Var, c10::BFloat16, "
       "float>()",
       kNorm, P::kBf16},
      {"(anonymous namespace)::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int>()",
       kCopyCast, P::kUnknown},
      {"(anonymous namespace)::indexSelectLargeIndex<float, int, unsigned int>()", kEmbedding,
       P::kFp32},
      {"index_elementwise_kernel<128, 4, at::native::index_copy_kernel_impl<OpaqueType<4> > >",
       kEmbedding, P::kUnknown},
      {"(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>()", kLoss,
       P::kFp32},
      {"(anonymous namespace)::fused_dropout_kernel_vec<float, float, unsigned int>()", kRandom,
       P::kFp32},
      {"(anonymous namespace)::max_pool_forward_nhwc<c10::BFloat16, int>()", kPooling, P::kBf16},
      {"sbtopk::gatherTopK<float, unsigned int, 2, false>()", kSortScan, P::kFp32},
      {"(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<4>, "
       "FusedAdamMathFunctor<float, 4>, double>()",
       kOptimizer, P::kFp32},
      {"(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, "
       "at::native::LpNormFunctor<float> >()",
       kReduction, P::kFp32},
      // "lambda" is no LAMB.
      {"(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, "
       "UnaryOpFunctor<float>, {lambda()#1}>()",
       kElementwise, P::kFp32},
  };
  for (const auto& expected : cases) {
    Check(
        {(native + expected.tail).c_str(), expected.family, expected.precision, M::kNotApplicable});
  }
  EXPECT_EQ(
      ClassifyKernel(native + "CatArrayBatchedCopy<OpaqueType<2u>, unsigned int>").element_bytes,
      2);
}

TEST(KernelFamily, TritonCommunicationAndStrangers) {
  Check({"triton_poi_fused__to_copy_add_mm_20", kTriton, P::kUnknown, M::kNotApplicable});
  Check({"triton_per_fused_native_layer_norm_2", kTriton, P::kUnknown, M::kNotApplicable});
  Check({"triton_tem_fused_addmm_relu_3", kMatmul, P::kUnknown, M::kUnknown});
  Check({"triton_tem_fused_flex_attention_0", kAttention, P::kUnknown, M::kUnknown});
  Check({"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         kCommunication, P::kUnknown, M::kNotApplicable});
  Check({"my_kernel(float*)", kOther, P::kUnknown, M::kUnknown});
  Check({"", kOther, P::kUnknown, M::kUnknown});
  ClassifyKernel(std::string(1'000'000, 'x') + "fbgemm_gpu::");  // neither slow nor fatal
}

}  // namespace
}  // namespace hone::analyze
